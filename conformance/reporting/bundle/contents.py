"""The files of a bundle: the evidence of one scenario, for who knows nothing of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from conformance.reporting.bundle.expected_failure import FILE, Bundle, Failed
from conformance.reporting.bundle.readme import Case, readme
from conformance.reporting.rendering.folder import Event, Folder
from conformance.reporting.rendering.phases import phases
from conformance.reporting.rendering.scenario import checked
from conformance.reporting.rendering.served import Sent
from conformance.reporting.rendering.timeline import KINDS, Timeline, timeline
from conformance.spec.catalogue import Catalogue
from regular_files import file_name

MOST: Final = 5_000
"""Lines of a timeline: of more, the middle is left out."""

COLUMN: Final = 24
"""Where the words begin behind the times."""


def lines(timeline: Timeline) -> Iterator[str]:
    """Yield the events, oldest first."""
    for at, until, where, what in timeline.in_order(MOST):
        span = f"{at:9.3f}" + ("" if until is None else f" to {until:.3f}")
        first, *more = what.splitlines() or [""]
        yield f"{span:{COLUMN - 2}}  {where:36}  {first}".rstrip()
        yield from (f"{'':{COLUMN}}{line}" for line in more)
    yield from (f"left out: {note}" for note in timeline.left_out)


REPLAY: Final = '''\
#!/usr/bin/env python3
"""Plays the scenario of this folder again: python replay.py [CLIENT] [--env NAME=VALUE …].

CLIENT is the client of the report, or another: a name as `xdspec list clients` has it, with
@VERSION and +VARIANT, or the folder of an adapter. Ports are new each time. Exits with 0 if every
failure is shown again, with 1 if one is not.
"""

import sys
from pathlib import Path

try:
    from conformance.__main__ import main
except ImportError:
    sys.exit("The package xdspec is not installed in this Python: README.md says which version.")

sys.argv = ["xdspec", "replay", str(Path(__file__).resolve().parent), *sys.argv[1:]]
main()
'''


def files(case: Case, catalogue: Catalogue) -> dict[str, bytes]:
    """Return the content of the bundle's files, by name."""
    record = case.folder.record
    happened = phases(case.folder, checked(record.decisions, record.checks))
    served = dict(_resources(case.folder))
    made = {
        "README.md": readme(case, catalogue, happened, [*served]),
        "timeline.txt": "\n".join(lines(timeline(case.folder))) + "\n",
        "replay.py": REPLAY,
        FILE: _json(msgspec.to_builtins(_bundle(case))),
    }
    if case.bootstrap:
        made["bootstrap.json"] = msgspec.json.format(case.bootstrap, indent=2).decode() + "\n"
    if case.stderr:
        made["stderr.log"] = case.stderr
    return {name: text.encode("utf-8", "backslashreplace") for name, text in made.items()} | {
        name: _json(value).encode() for name, value in served.items()
    }


def _bundle(case: Case) -> Bundle:
    record = case.folder.record
    return Bundle(
        suite=case.suite,
        scenario=record.scenario,
        client=case.named if case.is_built_in else case.client.name,
        is_built_in=case.is_built_in,
        built_from=case.built_from,
        seed=record.seed,
        fast=record.fast,
        failed=tuple(
            Failed(clause=failure.clause, reason=failure.reason, saw=failure.saw)
            for failure in case.failures
        ),
    )


def _resources(folder: Folder) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each response that brought something new, as a file that the control plane alone can read."""
    sent = Sent()
    number = 0
    for event in folder.events:
        if event.event != "Response":
            continue
        new = sent.new_in(event)
        if not new:
            continue
        number += 1
        yield (
            f"resources/{file_name(f'{number:03}-{_kind(event)}-{event.version}')}.json",
            {
                "version_info": event.version,
                "resources": [
                    {
                        "name": resource.name,
                        "type_url": resource.type_url,
                        "base64": resource.base64,
                    }
                    if resource.base64
                    else {"@type": resource.type_url, **resource.contents}
                    for resource in new
                ],
            },
        )


def _kind(event: Event) -> str:
    return KINDS.get(event.kind or "", "unknown").lower()


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
