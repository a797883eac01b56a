"""What tests of environments share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
