"""What the user says on pytest's command line and in its configuration file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from client_under_test.contract.exceptions import ClientTrouble
from client_under_test.manifests.clients import Client, built_in, find
from conformance.runner.manifest_check import check
from conformance.runner.settings import Settings
from conformance.runner.user_input import Unusable, pairs, require_folder

INI: Final = "xdspec_clients"

CLIENT_HELP: Final = (
    "A client that tests with the fixture `world` run against: a name ({there}), NAME@VERSION, "
    "NAME+VARIANT, or the folder of an adapter, which has a client.toml. May be repeated: each "
    "test then runs against each of them."
)


class PluginOptions(NamedTuple):
    """The clients that the user wants, and the environment that the user gives them."""

    clients: dict[str, Client]
    """By their names in test ids."""
    environment: dict[str, str]


def wish(config: pytest.Config) -> PluginOptions:
    """Read the command line and the configuration file.

    Raises:
        pytest.UsageError: it cannot be had.
    """
    return PluginOptions(_clients(config), _environment(config))


def add(parser: pytest.Parser) -> None:
    """Have pytest know the options."""
    group = parser.getgroup("xdspec", "xdspec: scenarios of your own against gRPC's xDS clients")
    group.addoption(
        "--xdspec-client",
        dest="xdspec_clients",
        action="append",
        metavar="CLIENT",
        help=CLIENT_HELP.format(there=", ".join(built_in())),
    )
    group.addoption(
        "--xdspec-out",
        default="xdspec-out",
        metavar="DIR",
        help="Folder for evidence of tests that fail: everything that was served, said, connected "
        "and called; `xdspec show` draws it. Default: xdspec-out.",
    )
    group.addoption(
        "--xdspec-keep-evidence", action="store_true", help="Keep that of tests that pass, too."
    )
    group.addoption(
        "--xdspec-seed",
        type=int,
        metavar="N",
        help="Draw the same random numbers as another run. Ports are new in each run, and with "
        "them the rings.",
    )
    group.addoption(
        "--xdspec-env",
        action="append",
        default=[],
        metavar="K=V",
        help="Environment for the client, such as GRPC_TRACE=xds_client. May be repeated.",
    )
    parser.addini(
        INI, "Clients that stand in for --xdspec-client where that is not given.", type="args"
    )


def _clients(config: pytest.Config) -> dict[str, Client]:
    """Return the named clients, each once, by name.

    Raises:
        pytest.UsageError: there is none of a name, or two have one name.
    """
    names: list[str] = config.getoption("xdspec_clients") or config.getini(INI)
    found: dict[str, Client] = {}
    for name in dict.fromkeys(names):
        try:
            client = find(name)
            check(client)
        except ClientTrouble as trouble:
            raise pytest.UsageError(f"xdspec: {trouble}") from None
        if str(client) in found:
            raise pytest.UsageError(
                f"xdspec: {found[str(client)].folder} and {client.folder} are both a client "
                f"{client}: their manifests need names of their own"
            )
        found[str(client)] = client
    return found


def settings(config: pytest.Config) -> Settings:
    """Return the options except for the clients, which are prepared later.

    Raises:
        pytest.UsageError: evidence cannot be written to the folder of `--xdspec-out`.
    """
    out = Path(config.getoption("--xdspec-out")).absolute()
    seed = config.getoption("--xdspec-seed")
    return Settings(
        seed=random.SystemRandom().getrandbits(32) if seed is None else seed,
        out=str(_usable(out)),
        keep_evidence=config.getoption("--xdspec-keep-evidence"),
    )


def _environment(config: pytest.Config) -> dict[str, str]:
    """Return the extra environment of the client's process.

    Raises:
        pytest.UsageError: something is no NAME=VALUE.
    """
    try:
        return pairs(config.getoption("--xdspec-env"))
    except Unusable as error:
        raise pytest.UsageError(f"--xdspec-env: {error}") from None


def _usable(out: Path) -> Path:
    try:
        require_folder(out)
    except Unusable as error:
        raise pytest.UsageError(f"--xdspec-out: nothing can be kept in {out}: {error}") from None
    return out
