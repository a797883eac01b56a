"""What tests need that import scenarios."""

from __future__ import annotations

import pytest

from conformance.judging.declaration import MARK


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(claims): the clauses that a scenario decides")
