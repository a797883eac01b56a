"""What a person may say."""

from __future__ import annotations

import pytest

from conformance.cli.interactive import commands
from conformance.cli.interactive.commands import (
    BadCommand,
    Break,
    Done,
    HoldBack,
    Make,
    Nothing,
    Push,
    Quit,
    Reach,
    Release,
    Show,
    ToEndpoints,
    Wait,
    parse,
)
from fake_control_plane import Kind, Service


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", Nothing()),
        ("   # a comment", Nothing()),
        ("done", Done()),
        ("d unavailable", Done("UNAVAILABLE")),
        ("done unknown", Done("unknown")),
        ("m", Make()),
        ("make all", Make(always=True)),
        ("kill 1 127.0.0.1:80", ToEndpoints("kill", ("1", "127.0.0.1:80"))),
        ("STALL 2", ToEndpoints("stall", ("2",))),
        ("push 'my file.yaml'", Push("my file.yaml")),
        ("break", Break()),
        ("break LRS", Break(Service.LRS)),
        ("hold", HoldBack(())),
        ("hold cds endpoints", HoldBack((Kind.CLUSTER, Kind.ENDPOINTS))),
        ("release lds", Release((Kind.LISTENER,))),
        ("stop", Reach(up=False)),
        ("resume", Reach(up=True)),
        ("w", Show("world")),
        ("?", Show("help")),
        ("wait", Wait()),
        ("exit", Quit()),
    ],
)
def test_a_command(line: str, said: object) -> None:
    assert parse(line) == said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("jump", "There is no command 'jump'"),
        ("done MAYBE", "'MAYBE' is not a gRPC status"),
        ("done OK OK", "takes no argument, but got 'OK'"),
        ("make it", "`make` takes no argument, or `all`"),
        ("kill", "needs the number or address"),
        ("push", "takes one file"),
        ("push a b", "takes one file"),
        ("break xds", "`break` takes `ads` or `lrs`"),
        ("hold 2", "got '2'"),
        ("quit now", "`quit` takes no argument, but got 'now'"),
        ("push 'x", "cannot be read"),
    ],
)
def test_no_command(line: str, why: str) -> None:
    with pytest.raises(BadCommand, match=why):
        parse(line)


def test_the_help_has_each_command() -> None:
    told = {line.split()[0].rstrip(",") for line in commands.HELP.splitlines() if line[0] != " "}
    assert {*commands._READ} - {"resume"} == told
