"""Clients as a session of pytest runs tests against them: made, started once, calibrated."""

from __future__ import annotations

import asyncio
import tempfile
from functools import partial
from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.exceptions import ClientTrouble, ConversationFailed
from client_under_test.environments import prepare
from client_under_test.manifests.clients import Client
from conformance.judging import causes
from conformance.reporting.live import patience
from conformance.reporting.stdout import Screen
from conformance.runner import preflight
from conformance.runner.calibration import calibrated, start_and_end
from conformance.runner.settings import Settings
from conformance.runner.targets import Target, subject_for
from conformance.spec.catalogue import load
from pytest_xdspec.options import PluginOptions


def place_of(out: str, subject: Target) -> Path:
    """Return the folder for the files of a client."""
    return Path(out) / subject.prepared.name.replace("/", "-")


def ready(wish: PluginOptions, settings: Settings, *, jobs: int) -> Settings:
    """Return the settings with the wanted clients added, after each client has said hello; blocks.

    Args:
        wish: the wanted clients.
        settings: the session's settings.
        jobs: processes of pytest at once.

    Raises:
        pytest.UsageError: one cannot be made or does not come up, or this machine carries none.
    """
    try:
        preflight.check(jobs)
        subjects = [_ready(client, wish.environment, settings) for client in wish.clients.values()]
    except preflight.Unfit as unfit:
        raise pytest.UsageError(f"xdspec: {unfit}") from None
    except ConversationFailed as failure:
        words = causes.of(failure).what
        raise pytest.UsageError(f"xdspec: {words} (`xdspec doctor` tells more of it)") from None
    except ClientTrouble as trouble:
        raise pytest.UsageError(f"xdspec: {trouble}") from None
    return msgspec.structs.replace(settings, subjects=tuple(subjects))


def _ready(client: Client, environment: dict[str, str], settings: Settings) -> Target:
    screen = Screen(stderr=True)

    def say(words: str) -> None:
        screen.print(words, highlight=False, markup=False)

    with patience(screen, client.preparation):
        made = prepare(client, environment)
    subject = subject_for(made, environment=environment)
    with tempfile.TemporaryDirectory(prefix="xdspec-") as scratch:
        folder = Path(scratch)
        stderr = folder / "hello.stderr"
        with patience(screen, f"waiting for the hello of {made.name}"):
            asyncio.run(start_and_end(made, environment, stderr, say))
        return calibrated(
            subject,
            load(),
            seed=settings.seed,
            scratch=folder,
            out=place_of(settings.out, subject),
            meanwhile=partial(patience, screen),
        )
