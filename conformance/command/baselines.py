"""``xdspec baseline``: a client's expected.toml and reports, from files and back into one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from conformance.catalogue import Catalogue
from conformance.command.failures import Failure
from conformance.command.named import known_clause
from conformance.reporting import baseline
from conformance.reporting.baseline import BadBaseline
from conformance.reporting.baseline_update import Refused, Said
from conformance.reporting.baseline_update import update as updated
from conformance.reporting.report import BadReport, read


def update(
    file: Path,
    reports: Collection[Path],
    catalogue: Catalogue,
    *,
    client: str | None,
    over: Path | None,
    words: Mapping[str, str],
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
        words: by clause, why it fails.
        issues: by clause, a link.
        is_check: change no file.

    Raises:
        Failure: the baseline or a report cannot be used, or a person has to say more.
    """
    said = Said(
        words={known_clause(catalogue, clause).id: text for clause, text in words.items()},
        issues={known_clause(catalogue, clause).id: link for clause, link in issues.items()},
    )
    try:
        if over and not over.exists():
            raise Failure(f"{over} cannot be read: there is no such file")
        below = baseline.read(over, catalogue) if over else ()
        text = file.read_text("utf-8") if file.exists() else ""
        baseline.parsed(text.encode(), catalogue, file, below=below)
        runs = [run for path in reports for run in read(path).runs]
        if client is not None:
            runs = [run for run in runs if run.client.name == client]
        found = updated(text, runs, said, below)
        baseline.parsed(found.text.encode(), catalogue, file, below=below)
    except (BadBaseline, BadReport, Refused) as error:
        raise Failure(str(error)) from None
    if found.changes and not is_check:
        _replace(file, found.text)
    return found.changes


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
