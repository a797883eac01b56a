from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fake_control_plane.kinds import Kind
from fake_control_plane.resources import (
    eds_cluster,
    endpoints,
    listener,
    route_configuration,
)
from fake_control_plane.snapshot import Snapshots
from fake_control_plane.stream import AckOrNack, AdsStream, Outgoing, Received, Subscription

LDS, RDS, CDS, EDS = Kind.LISTENER, Kind.ROUTE, Kind.CLUSTER, Kind.ENDPOINTS


def resource(kind: Kind, name: str) -> Any:
    match kind:
        case Kind.LISTENER:
            return listener(name, route_config="r")
        case Kind.ROUTE:
            return route_configuration(name, cluster="c")
        case Kind.CLUSTER:
            return eds_cluster(name)
        case Kind.ENDPOINTS:
            return endpoints(name)


def ask(stream: AdsStream, kind: Kind, *names: str, nonce: str = "") -> Received:
    return stream.receive(type_url=kind.type_url, names=names, nonce=nonce)


def names(outgoing: Outgoing | None) -> list[str] | None:
    return None if outgoing is None else [packed.name for packed in outgoing.resources]


SUBSCRIPTIONS = [
    # kind, the name lists of the requests one after the other, wildcard at the end, names
    (LDS, [["a"]], False, {"a"}),
    (LDS, [[]], True, set()),
    (CDS, [["*"]], True, set()),
    (CDS, [["*", "a"]], True, {"a"}),
    (CDS, [[], []], True, set()),
    (CDS, [["a"], []], False, set()),
    (CDS, [["*"], []], False, set()),
    (CDS, [[], ["a"]], False, {"a"}),
    (CDS, [[], ["*", "a"]], True, {"a"}),
    (CDS, [["*"], ["a"]], False, {"a"}),
    (CDS, [["a"], ["*"]], True, set()),
    (EDS, [[]], False, set()),
    (EDS, [["*"]], False, {"*"}),
    (RDS, [["a", "b"], ["b"]], False, {"b"}),
]


@pytest.mark.parametrize(("kind", "requests", "wildcard", "named"), SUBSCRIPTIONS)
def test_subscription(
    *, kind: Kind, requests: list[list[str]], wildcard: bool, named: set[str]
) -> None:
    subscription = Subscription()
    for request in requests:
        subscription = subscription.after(kind, request)
    assert (subscription.wildcard, set(subscription.names)) == (wildcard, named)


class World:
    """A stream and what is served to it."""

    def __init__(self, *existing: tuple[Kind, str]) -> None:
        self.stream = AdsStream("s")
        self.snapshots = Snapshots()
        self.set(*existing)

    def set(self, *existing: tuple[Kind, str]) -> None:
        self.snapshots.set([resource(kind, name) for kind, name in existing])

    def delete(self, kind: Kind, name: str) -> None:
        self.snapshots.delete(kind, [name])

    def respond(self, kind: Kind, *, unasked: bool = False) -> Outgoing | None:
        return self.stream.respond(kind, self.snapshots.seen_by(None), unasked=unasked)


# Each row: what exists; steps of (request names | set name | delete name); what is sent after each.
ANSWERS = [
    pytest.param(CDS, ["a"], [("ask", "a")], [["a"]], id="a name that exists"),
    pytest.param(CDS, ["a"], [("ask", "b")], [None], id="a name that does not exist"),
    pytest.param(CDS, ["a"], [("ask", "a b")], [["a"]], id="one exists, one does not"),
    pytest.param(CDS, ["a"], [("ask", "a"), ("ask", "a")], [["a"], None], id="nothing new"),
    pytest.param(
        CDS, ["a", "b"], [("ask", "a"), ("ask", "a b")], [["a"], ["a", "b"]],
        id="a new name: all that is subscribed to",
    ),
    pytest.param(
        EDS, ["a", "b"], [("ask", "a"), ("ask", "a b")], [["a"], ["b"]],
        id="a new name: only what is new",
    ),
    pytest.param(
        CDS, ["a", "b"], [("ask", "a b"), ("set", "a")], [["a", "b"], ["a", "b"]],
        id="a change of one: all that is subscribed to",
    ),
    pytest.param(
        EDS, ["a", "b"], [("ask", "a b"), ("set", "a")], [["a", "b"], ["a"]],
        id="a change of one: only what changed",
    ),
    pytest.param(CDS, ["a"], [("ask", "a"), ("set", "b")], [["a"], None], id="a change elsewhere"),
    pytest.param(CDS, ["a"], [("ask", "b"), ("set", "b")], [None, ["b"]], id="it comes to exist"),
    pytest.param(EDS, [], [("ask", "b"), ("set", "b")], [None, ["b"]], id="so does EDS"),
    pytest.param(LDS, ["a"], [("ask", "a"), ("delete", "a")], [["a"], []], id="absence deletes"),
    pytest.param(RDS, ["a"], [("ask", "a"), ("delete", "a")], [["a"], None], id="not of RDS"),
    pytest.param(
        EDS, ["a"], [("ask", "a"), ("delete", "a"), ("set", "a")], [["a"], None, ["a"]],
        id="deleted and there again",
    ),
    pytest.param(
        CDS, ["a"], [("ask", "a"), ("ask", ""), ("ask", "a")], [["a"], None, ["a"]],
        id="subscribed to again after the client forgot it",
    ),
    pytest.param(
        EDS, ["a"], [("ask", "a"), ("ask", ""), ("ask", "a")], [["a"], None, ["a"]],
        id="subscribed to again after the client forgot it, EDS",
    ),
    pytest.param(
        CDS, ["a", "b"], [("ask", "a b"), ("ask", "a")], [["a", "b"], None], id="a name less"
    ),
    pytest.param(
        CDS, ["a", "b"], [("ask", "*"), ("set", "c"), ("delete", "a")],
        [["a", "b"], ["a", "b", "c"], ["b", "c"]],
        id="wildcard",
    ),
    pytest.param(
        CDS, ["a", "b", "c"], [("ask", "a b"), ("ask", "c"), ("ask", "b c")],
        [["a", "b"], ["a", "b", "c"], ["a", "b", "c"]],
        id="no more asked for, in a response without an answer",
    ),
    pytest.param(
        CDS, ["a", "b", "c"], [("ask", "a b"), ("answer", "a b"), ("ask", "c")],
        [["a", "b"], None, ["c"]],
        id="no more asked for after the answer",
    ),
    pytest.param(
        CDS, ["a", "b", "c"], [("ask", "a"), ("ask", "b"), ("answer", "b"), ("ask", "c")],
        [["a"], ["a", "b"], None, ["c"]],
        id="the answer to the newest response stands for those before",
    ),
    pytest.param(
        CDS, ["a", "b", "c"], [("ask", "a"), ("ask", "b"), ("answer first", "b"), ("ask", "c")],
        [["a"], ["a", "b"], None, ["a", "b", "c"]],
        id="the answer to an older one does not stand for those behind",
    ),
    pytest.param(
        CDS, ["a", "b"], [("ask", "a"), ("ask", ""), ("delete", "a"), ("ask", "b")],
        [["a"], None, None, ["b"]],
        id="no more asked for, and deleted",
    ),
    pytest.param(
        EDS, ["a", "b"], [("ask", "a"), ("ask", "b")], [["a"], ["b"]],
        id="no more asked for, of EDS",
    ),
    pytest.param(LDS, ["a"], [("ask", "")], [["a"]], id="wildcard in the old form"),
    pytest.param(CDS, [], [("ask", "*"), ("set", "a")], [None, ["a"]], id="wildcard of nothing"),
    pytest.param(EDS, ["a"], [("ask", "")], [None], id="no wildcard of EDS"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "existing", "steps", "sent"), ANSWERS)
def test_what_is_sent(
    kind: Kind, existing: list[str], steps: list[tuple[str, str]], sent: list[list[str] | None]
) -> None:
    world = World(*((kind, name) for name in existing))
    seen, nonces = [], list[str]()
    for verb, argument in steps:
        match verb:
            case "ask":
                ask(world.stream, kind, *argument.split())
            case "answer":
                ask(world.stream, kind, *argument.split(), nonce=nonces[-1])
            case "answer first":
                ask(world.stream, kind, *argument.split(), nonce=nonces[0])
            case "set":
                world.set((kind, argument))
            case "delete":
                world.delete(kind, argument)
        outgoing = world.respond(kind)
        seen.append(names(outgoing))
        nonces += [outgoing.nonce] if outgoing else []
        assert world.respond(kind) is None, "the same must not be sent twice"
    assert seen == sent


def test_a_wildcard_client_learns_that_all_is_gone_already() -> None:
    world = World((CDS, "a"))
    world.delete(CDS, "a")
    ask(world.stream, CDS, "*")
    assert names(world.respond(CDS)) == []


def test_what_nobody_asked_for_comes_beside_what_is_due() -> None:
    world = World((CDS, "a"), (CDS, "b"), (CDS, "c"), (EDS, "a"), (EDS, "b"))
    ask(world.stream, CDS, "b")
    ask(world.stream, EDS, "b")
    for kind, all_of_it in ((CDS, ["a", "b", "c"]), (EDS, ["a", "b"])):
        assert names(world.respond(kind, unasked=True)) == all_of_it
        assert world.respond(kind, unasked=True) is None
    world.set((CDS, "a"))
    assert world.respond(CDS, unasked=True) is None
    ask(world.stream, EDS, "a", "b")
    assert names(world.respond(EDS, unasked=True)) == ["a"], "it was not sent to who asked"


def test_a_type_never_asked_for_is_not_sent() -> None:
    world = World((CDS, "a"))
    assert world.respond(CDS) is None
    assert not world.stream.is_due(CDS, world.snapshots.seen_by(None))


def test_versions_are_the_snapshots_and_nonces_are_fresh() -> None:
    world = World((CDS, "a"), (EDS, "a"))
    ask(world.stream, CDS, "a")
    ask(world.stream, EDS, "a")
    first, other = world.respond(CDS), world.respond(EDS)
    world.set((CDS, "a"))
    second = world.respond(CDS)
    assert first is not None
    assert other is not None
    assert second is not None
    assert (first.version, other.version, second.version) == ("1", "1", "2")
    assert len({first.nonce, other.nonce, second.nonce}) == 3
    assert first.type_url == CDS.type_url


def sent_twice() -> tuple[World, str, str]:
    world = World((CDS, "a"))
    ask(world.stream, CDS, "a")
    first = world.respond(CDS)
    world.set((CDS, "a"))
    second = world.respond(CDS)
    assert first is not None
    assert second is not None
    return world, first.nonce, second.nonce


def test_acks() -> None:
    world, first, second = sent_twice()
    late = ask(world.stream, CDS, "a", nonce=first)
    assert (late.answer, late.answered_version, late.stale) == (AckOrNack.ACK, "1", True)
    newest = ask(world.stream, CDS, "a", nonce=second)
    assert (newest.answer, newest.answered_version, newest.stale) == (AckOrNack.ACK, "2", False)


def test_nack() -> None:
    world, _, second = sent_twice()
    reception = world.stream.receive(type_url=CDS.type_url, names=["a"], nonce=second, rejects=True)
    assert (reception.answer, reception.answered_version) == (AckOrNack.NACK, "2")
    assert world.respond(CDS) is None, "what was rejected is not sent again"


def test_a_nonce_is_answered_once() -> None:
    world, _, second = sent_twice()
    ask(world.stream, CDS, "a", nonce=second)
    again = ask(world.stream, CDS, "a", "b", nonce=second)
    assert (again.answer, again.subscribed) == (None, ("b",))


ASKED_AGAIN = [
    # kind, what came above it meanwhile, names and nonce of a request after the ACK; what is sent
    pytest.param(EDS, CDS, ["a", "b"], True, ["a", "b"], id="endpoints of a cluster that changed"),
    pytest.param(RDS, LDS, ["a", "b"], True, ["a", "b"], id="routes of a listener that changed"),
    pytest.param(EDS, None, ["a", "b"], True, None, id="nothing changed"),
    pytest.param(EDS, LDS, ["a", "b"], True, None, id="something else changed"),
    pytest.param(EDS, CDS, ["a"], True, None, id="the subscription changes"),
    pytest.param(EDS, CDS, ["a", "b"], False, None, id="with an old nonce"),
    pytest.param(CDS, LDS, ["a", "b"], True, None, id="there is nothing above clusters"),
]


@pytest.mark.parametrize(("kind", "above", "again", "newest", "sent"), ASKED_AGAIN)
def test_asking_again(
    *, kind: Kind, above: Kind | None, again: list[str], newest: bool, sent: list[str] | None
) -> None:
    world = World((kind, "a"), (kind, "b"))
    ask(world.stream, kind, "a", "b")
    first = world.respond(kind)
    assert first is not None
    ask(world.stream, kind, "a", "b", nonce=first.nonce)
    assert world.respond(kind) is None, "that was the ACK"
    if above is not None:
        world.set((above, "c"))
        ask(world.stream, above, "c")
        assert names(world.respond(above)) == ["c"]
    asked = ask(world.stream, kind, *again, nonce=first.nonce if newest else "old")
    assert asked.answer is None
    second = world.respond(kind)
    assert names(second) == sent
    if second is not None:
        assert (second.version, second.nonce != first.nonce) == (first.version, True)
        for meant in (AckOrNack.ACK, None):  # who says it twice gets no more for it
            told = ask(world.stream, kind, "a", "b", nonce=second.nonce)
            assert told.answer is meant
            assert world.respond(kind) is None


@pytest.mark.parametrize("nonce", ["", "never sent"])
def test_a_nonce_that_was_not_sent_is_stale_and_no_answer(nonce: str) -> None:
    world, _, _ = sent_twice()
    reception = ask(world.stream, CDS, "b", nonce=nonce)
    assert (reception.answer, reception.stale) == (None, True)
    assert (reception.subscribed, reception.unsubscribed) == (("b",), ("a",))


def test_a_nonce_of_another_type_is_no_answer() -> None:
    world, first, _ = sent_twice()
    assert ask(world.stream, LDS, "a", nonce=first).answer is None


def test_the_first_request_is_not_stale() -> None:
    reception = ask(AdsStream("s"), CDS, "a")
    assert not reception.stale
    assert reception.subscribed == ("a",)


def test_an_unknown_type_is_only_reported() -> None:
    reception = AdsStream("s").receive(type_url="type.googleapis.com/no.Such", names=["a"])
    assert reception.kind is None
    assert reception.subscribed == ("a",)


def test_the_wildcard_is_an_entry_of_its_own() -> None:
    stream = AdsStream("s")
    assert ask(stream, CDS).subscribed == ("*",)
    reception = ask(stream, CDS, "a")
    assert (reception.subscribed, reception.unsubscribed) == (("a",), ("*",))


def test_a_disturbance_is_answered_like_a_response() -> None:
    world, first, second = sent_twice()
    assert world.stream.earlier_nonce(CDS) == first
    sent = world.stream.disturb(CDS, version="9", resources=(), fault="x", nonce=second)
    assert (sent.nonce, sent.fault) == (second, "x")
    assert ask(world.stream, CDS, "a", nonce=second).answered_version == "9"
    assert world.stream.earlier_nonce(LDS) is None


class SotwClient(RuleBasedStateMachine):
    """A client that follows the protocol always ends up with what is served."""

    NAMES = st.sampled_from("abc")

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.wanted: dict[Kind, set[str]] = {}
        self.known: dict[Kind, dict[str, bytes]] = {kind: {} for kind in Kind}
        self.nonces: set[str] = set()
        self.newest: dict[Kind, str] = {}
        self.changes = 0

    @rule(kind=st.sampled_from(Kind), wanted=st.sets(NAMES))
    def subscribe(self, kind: Kind, wanted: set[str]) -> None:
        if not wanted and kind not in self.wanted:
            return  # the old wildcard is tested by the tables
        self.wanted[kind] = wanted
        self.known[kind] = {n: body for n, body in self.known[kind].items() if n in wanted}
        reception = ask(self.world.stream, kind, *wanted, nonce=self.newest.get(kind, ""))
        assert reception.answer is None
        assert not reception.stale

    @rule(kind=st.sampled_from(Kind), name=NAMES)
    def change(self, kind: Kind, name: str) -> None:
        self.changes += 1
        changed = resource(kind, name)
        if kind is EDS:
            changed.policy.overprovisioning_factor.value = self.changes
        elif kind is CDS:
            changed.alt_stat_name = str(self.changes)
        self.world.snapshots.set([changed])

    @rule(kind=st.sampled_from(Kind), name=NAMES)
    def delete(self, kind: Kind, name: str) -> None:
        if name in self.world.snapshots.seen_by(None).of(kind):
            self.world.delete(kind, name)

    @rule(kind=st.sampled_from(Kind), rejects=st.booleans())
    def exchange(self, *, kind: Kind, rejects: bool) -> None:
        outgoing = self.world.respond(kind)
        if outgoing is None:
            return
        assert outgoing.nonce not in self.nonces
        self.nonces.add(outgoing.nonce)
        carried = {packed.name: packed.body for packed in outgoing.resources}
        if kind.is_complete:
            self.known[kind] = carried
        else:
            self.known[kind] |= carried
        self.newest[kind] = outgoing.nonce
        reception = self.world.stream.receive(
            type_url=kind.type_url,
            names=self.wanted[kind],
            nonce=outgoing.nonce,
            rejects=rejects,
        )
        assert reception.answer is (AckOrNack.NACK if rejects else AckOrNack.ACK)
        assert reception.answered_version == outgoing.version
        assert not reception.stale
        assert self.world.respond(kind) is None

    @invariant()
    def what_is_not_due_is_known(self) -> None:
        snapshot = self.world.snapshots.seen_by(None)
        for kind, wanted in self.wanted.items():
            if self.world.stream.is_due(kind, snapshot):
                continue
            served = {
                name: entry.packed.body
                for name, entry in snapshot.of(kind).items()
                if name in wanted
            }
            if kind.is_complete:
                assert self.known[kind] == served
            else:
                assert served.items() <= self.known[kind].items()


SotwClient.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSotwClient = SotwClient.TestCase
