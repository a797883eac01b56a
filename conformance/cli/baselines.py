"""``xdspec baseline``: a client's expected.toml and reports, from files and back into one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from conformance.cli.failures import Failure
from conformance.cli.lookup import known_clause
from conformance.reporting import baseline
from conformance.reporting.baseline import BadBaseline
from conformance.reporting.baseline_update import Refused, Said
from conformance.reporting.baseline_update import update as updated
from conformance.reporting.report import BadReport, Run, read
from conformance.spec.catalogue import Catalogue
from regular_files import read_text


def update(
    file: Path,
    reports: Collection[Path],
    catalogue: Catalogue,
    *,
    client: str | None,
    over: Path | None,
    explanations: Mapping[str, str],
    issues: Mapping[str, str],
    is_check: bool,
) -> tuple[str, ...]:
    """Bring a baseline up to date; what changed, in sentences.

    Args:
        file: of the baseline; it need not be there.
        reports: that ``--json`` has written.
        catalogue: the clauses.
        client: whose runs count; None if the reports are of one.
        over: the baseline that this one is laid over, if it is.
        explanations: by clause, why it fails.
        issues: by clause, a link.
        is_check: change no file.

    Raises:
        Failure: the baseline or a report cannot be used, or a person has to say more.
    """
    said = Said(
        explanations={
            known_clause(catalogue, clause).id: text for clause, text in explanations.items()
        },
        issues={known_clause(catalogue, clause).id: link for clause, link in issues.items()},
    )
    try:
        if over and not over.exists():
            raise Failure(f"{over} cannot be read: there is no such file")
        below = baseline.read(over, catalogue) if over else ()
        text = _text(file)
        baseline.parsed(text.encode(), catalogue, file, below=below)
        found = updated(text, _runs(reports, client), said, below)
        baseline.parsed(found.text.encode(), catalogue, file, below=below)
    except (BadBaseline, BadReport, Refused) as error:
        raise Failure(str(error)) from None
    if found.changes and not is_check:
        _replace(file, found.text)
    return found.changes


def _text(file: Path) -> str:
    """Return the text of a baseline; empty if the file does not exist.

    Raises:
        BadBaseline: it cannot be read.
    """
    try:
        return read_text(file)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BadBaseline(f"{file} cannot be read: {error.strerror}") from None


def _runs(reports: Collection[Path], client: str | None) -> list[Run]:
    """Return the runs of a client, or all runs if no client is named."""
    runs = [run for path in reports for run in read(path).runs]
    return [run for run in runs if client in {None, run.client.name}]


def _replace(file: Path, text: str) -> None:
    """Whole or not at all: a baseline that is cut off in the middle would be another one."""
    descriptor, name = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.write(text)
        if file.exists():
            Path(name).chmod(file.stat().st_mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
