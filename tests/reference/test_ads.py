"""The aggregated stream as a table of what is told and what is answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as Packed

from client_under_test.reference.editions import behavior
from client_under_test.reference.values import Status
from client_under_test.reference.xds.ads import (
    Absent,
    Ads,
    CancelTimer,
    Changed,
    Output,
    Request,
    StartTimer,
)
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made

BROKEN = Status.unavailable("broken")
NOT_THERE = Absent(Status.unavailable("Cluster a does not exist"), is_gone=True)


def packed(*messages: Any) -> list[Packed]:
    anys = []
    for message in messages:
        resource = Packed()
        resource.Pack(message)
        anys.append(resource)
    return anys


def good(name: str, **of: Any) -> Any:
    return made.eds_cluster(name, **of)


def bad(name: str) -> Any:
    return made.eds_cluster(name, policy=made.ring_hash(hash_function="MURMUR_HASH_2"))


def respond(ads: Ads, version: str, *messages: Any, nonce: str = "") -> list[Output]:
    nonce = nonce or f"nonce-{version}"
    return ads.response(Kind.CLUSTER.type_url, version, nonce, packed(*messages))


def requests(outputs: list[Output]) -> list[Request]:
    return [output for output in outputs if isinstance(output, Request)]


def only_request(outputs: list[Output]) -> Request:
    (request,) = requests(outputs)
    return request


def subscribed(*names: str, **rules: Any) -> Ads:
    ads = Ads(XdsRules(**rules))
    for name in names:
        ads.subscribe(Kind.CLUSTER, name)
    ads.stream_started()
    return ads


def test_nothing_is_sent_before_the_stream_is_up() -> None:
    ads = Ads(XdsRules())
    ads.subscribe(Kind.CLUSTER, "a")
    assert ads.due() == []
    request = only_request(ads.stream_started())
    assert (request.names, request.version, request.nonce) == (("a",), "", "")
    assert ads.due() == []


def test_time_runs_from_the_request_on() -> None:
    ads, hasty = Ads(XdsRules()), Ads(XdsRules(resource_timer_runs=lambda _: True))
    for client in (ads, hasty):
        client.subscribe(Kind.CLUSTER, "a")
    timer = StartTimer(Kind.CLUSTER, "a")
    assert (ads.due(), hasty.due(), hasty.due()) == ([], [timer], [])
    assert timer in ads.stream_started()
    assert timer not in hasty.stream_started()


def test_types_of_which_nothing_is_wanted_are_not_mentioned() -> None:
    """An empty list would ask for every Listener and Cluster."""
    ads = subscribed("a")
    assert [request.kind for request in requests(ads.stream_started())] == [Kind.CLUSTER]


def test_the_node_is_in_the_first_request_of_each_stream_only() -> None:
    ads = Ads(XdsRules())
    ads.subscribe(Kind.LISTENER, "l")
    ads.subscribe(Kind.CLUSTER, "a")
    assert [request.has_node for request in requests(ads.stream_started())] == [True, False]
    ads.stream_ended(BROKEN)
    assert [request.has_node for request in requests(ads.stream_started())] == [True, False]


def test_ack() -> None:
    ads = subscribed("a")
    outputs = respond(ads, "1", good("a"))
    request = only_request(outputs)
    assert (request.version, request.nonce, request.error) == ("1", "nonce-1", None)
    assert Changed(Kind.CLUSTER, "a") in outputs


def test_nack_names_the_last_good_version_the_new_nonce_and_the_reason() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    request = only_request(respond(ads, "2", bad("a")))
    assert (request.version, request.nonce) == ("1", "nonce-2")
    assert request.error == "Cluster a: ring_hash_lb_config.hash_function: 1 is not XX_HASH"


def test_nack_of_the_first_response_has_no_version() -> None:
    request = only_request(respond(subscribed("a"), "1", bad("a")))
    assert (request.version, request.nonce) == ("", "nonce-1")


def test_a_good_response_after_a_nack_is_acked_and_told() -> None:
    ads = subscribed("a")
    respond(ads, "1", bad("a"))
    outputs = respond(ads, "2", good("a"))
    assert only_request(outputs).error is None
    assert Changed(Kind.CLUSTER, "a") in outputs


def test_later_requests_of_a_rejected_type_do_not_repeat_the_error() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    respond(ads, "2", bad("a"))
    ads.subscribe(Kind.CLUSTER, "b")
    request = only_request(ads.due())
    assert (request.names, request.version) == (("a", "b"), "1")
    assert (request.nonce, request.error) == ("nonce-2", None)


def test_good_resources_beside_bad_ones_are_used_and_every_bad_one_is_named() -> None:
    ads = subscribed("a", "b", "c")
    outputs = respond(ads, "1", bad("a"), good("b"), bad("c"))
    error = only_request(outputs).error or ""
    assert "Cluster a:" in error
    assert "Cluster c:" in error
    outcome = ads.outcome(Kind.CLUSTER, "b")
    assert outcome is not None
    assert not isinstance(outcome, Absent)
    assert isinstance(ads.outcome(Kind.CLUSTER, "a"), Absent)


def test_a_bad_resource_leaves_the_good_one_before_it_in_use() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    before = ads.outcome(Kind.CLUSTER, "a")
    outputs = respond(ads, "2", bad("a"))
    assert Changed(Kind.CLUSTER, "a") not in outputs
    assert ads.outcome(Kind.CLUSTER, "a") is before


def test_an_equal_resource_is_no_news() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    assert not [output for output in respond(ads, "2", good("a")) if isinstance(output, Changed)]


def test_a_name_twice_in_a_response_is_bad() -> None:
    request = only_request(respond(subscribed("a"), "1", good("a"), good("a")))
    assert request.error == "Cluster a: is there twice"


def test_what_nobody_asked_for_is_ignored() -> None:
    ads = subscribed("a")
    outputs = respond(ads, "1", good("a"), good("stranger"))
    assert [output for output in outputs if isinstance(output, Changed)] == [
        Changed(Kind.CLUSTER, "a")
    ]


def test_a_response_of_an_unknown_type_is_ignored() -> None:
    assert subscribed("a").response("type.googleapis.com/other", "1", "n", []) == []


def test_a_response_without_a_subscription_is_acked_and_its_nonce_kept() -> None:
    ads = subscribed("a")
    ads.unsubscribe(Kind.CLUSTER, "a")
    ads.due()
    assert only_request(respond(ads, "1", good("a"))).names == ()
    ads.subscribe(Kind.CLUSTER, "b")
    assert only_request(ads.due()).nonce == "nonce-1"


def test_unsubscribing_is_told_the_last_name_with_an_empty_list() -> None:
    ads = subscribed("a", "b")
    respond(ads, "1", good("a"), good("b"))
    ads.unsubscribe(Kind.CLUSTER, "a")
    assert only_request(ads.due()).names == ("b",)
    ads.unsubscribe(Kind.CLUSTER, "b")
    assert only_request(ads.due()).names == ()


def test_left_out_of_the_world_means_deleted() -> None:
    ads = subscribed("a", "b")
    respond(ads, "1", good("a"), good("b"))
    outputs = respond(ads, "2", good("b"))
    assert Changed(Kind.CLUSTER, "a") in outputs
    assert ads.outcome(Kind.CLUSTER, "a") == NOT_THERE
    assert Changed(Kind.CLUSTER, "a") in respond(ads, "3", good("a"), good("b"))


def test_left_out_because_it_is_bad_does_not_mean_deleted() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    nameless = packed(good("a"))
    nameless[0].value = b"\x0f"
    ads.response(Kind.CLUSTER.type_url, "2", "n", nameless)
    assert not isinstance(ads.outcome(Kind.CLUSTER, "a"), Absent)


def test_endpoints_left_out_stay() -> None:
    ads = Ads(XdsRules())
    ads.subscribe(Kind.ENDPOINTS, "a")
    ads.subscribe(Kind.ENDPOINTS, "b")
    ads.stream_started()
    url = Kind.ENDPOINTS.type_url
    ads.response(url, "1", "n", packed(made.endpoints("a"), made.endpoints("b")))
    assert not [o for o in ads.response(url, "2", "m", packed(made.endpoints("b"))) if _is_news(o)]


def _is_news(output: Output) -> bool:
    return isinstance(output, Changed)


def test_the_timer_runs_from_the_request_to_the_resource() -> None:
    ads = Ads(XdsRules())
    ads.subscribe(Kind.CLUSTER, "a")
    assert StartTimer(Kind.CLUSTER, "a") in ads.stream_started()
    assert CancelTimer(Kind.CLUSTER, "a") in respond(ads, "1", good("a"))


def test_a_bad_resource_ends_the_timer_too() -> None:
    assert CancelTimer(Kind.CLUSTER, "a") in respond(subscribed("a"), "1", bad("a"))


def test_when_the_timer_fires_the_resource_does_not_exist() -> None:
    ads = subscribed("a")
    assert ads.timer_fired(Kind.CLUSTER, "a") == [Changed(Kind.CLUSTER, "a")]
    assert ads.outcome(Kind.CLUSTER, "a") == NOT_THERE


def test_timers_stop_with_the_stream_and_begin_anew_with_the_next_request() -> None:
    ads = subscribed("a", "b")
    respond(ads, "1", good("b"))
    assert ads.stream_ended(BROKEN) == [CancelTimer(Kind.CLUSTER, "a")]
    outputs = ads.stream_started()
    assert [o for o in outputs if isinstance(o, StartTimer)] == [StartTimer(Kind.CLUSTER, "a")]


def test_a_new_stream_says_the_version_but_no_nonce() -> None:
    ads = subscribed("a")
    respond(ads, "5", good("a"))
    ads.stream_ended(BROKEN)
    request = only_request(ads.stream_started())
    assert (request.version, request.nonce, request.names) == ("5", "", ("a",))


@pytest.mark.parametrize("answered", [False, True])
def test_a_stream_that_broke_is_news_only_if_it_had_not_answered(*, answered: bool) -> None:
    ads = subscribed("a", "b")
    if answered:
        respond(ads, "1", good("b"))
    news = [output for output in ads.stream_ended(BROKEN) if isinstance(output, Changed)]
    assert bool(news) != answered


def test_no_error_takes_a_resource_away() -> None:
    ads = subscribed("a")
    respond(ads, "1", good("a"))
    ads.stream_ended(BROKEN)
    assert ads.unreachable(BROKEN) == []


def test_unsubscribing_forgets() -> None:
    ads = subscribed("a")
    assert ads.unsubscribe(Kind.CLUSTER, "a") == [CancelTimer(Kind.CLUSTER, "a")]
    assert not ads.is_wanted
    ads.subscribe(Kind.CLUSTER, "a")
    assert ads.outcome(Kind.CLUSTER, "a") is None


def test_a_bad_resource_is_not_kept_from_use_if_the_rule_says_so() -> None:
    ads = Ads(XdsRules(rejection_removes=lambda _noun, _features: True))
    ads.subscribe(Kind.CLUSTER, "a")
    ads.stream_started()
    respond(ads, "1", good("a"))
    assert Changed(Kind.CLUSTER, "a") in respond(ads, "2", bad("a"))


def test_before_a46_good_resources_beside_bad_ones_were_not_used() -> None:
    ads = subscribed("a", "b", uses_valid_resources=False)
    respond(ads, "1", bad("a"), good("b"))
    assert ads.outcome(Kind.CLUSTER, "b") is None
    respond(ads, "2", good("b"))
    assert not isinstance(ads.outcome(Kind.CLUSTER, "b"), Absent)


def test_what_is_left_out_stays_if_the_rule_says_so() -> None:
    ads = subscribed("a", "b", omission_deletes=lambda _noun: False)
    respond(ads, "1", good("a"), good("b"))
    assert Changed(Kind.CLUSTER, "a") not in respond(ads, "2", good("b"))


def test_who_is_asked_for_can_be_another() -> None:
    ads = subscribed("a", "b", names_to_request=lambda noun, names: (*names, noun))
    assert only_request(ads.stream_started()).names == ("a", "b", "Cluster")


def test_lost_is_not_gone() -> None:
    ads = subscribed("a", "b")
    ads.timer_fired(Kind.CLUSTER, "a")
    ads.stream_ended(BROKEN)
    for name in "ab":
        outcome = ads.outcome(Kind.CLUSTER, name)
        assert isinstance(outcome, Absent)
        assert not outcome.is_gone


@pytest.mark.parametrize(
    ("name", "features", "deleted", "refused"),
    [
        ("seed", (), True, False),
        ("seed", ("ignore_resource_deletion",), True, False),
        ("modern", (), True, False),
        ("modern", ("ignore_resource_deletion",), False, False),
        ("seed+A88-XDS", (), False, False),
        ("seed+A88-XDS", ("fail_on_data_errors", "ignore_resource_deletion"), True, True),
    ],
)
def test_data_errors_by_server_feature(
    name: str, features: tuple[str, ...], *, deleted: bool, refused: bool
) -> None:
    rules = replace(behavior.of_edition(name).xds, server_features=frozenset(features))
    for messages, gone in (([good("b")], deleted), ([bad("a"), good("b")], refused)):
        ads = Ads(rules)
        ads.subscribe(Kind.CLUSTER, "a")
        ads.stream_started()
        respond(ads, "1", good("a"))
        respond(ads, "2", *messages)
        assert isinstance(ads.outcome(Kind.CLUSTER, "a"), Absent) is gone


def test_a88_the_timer_may_be_transient() -> None:
    feature = frozenset({"resource_timer_is_transient_error"})
    rules = behavior.of_edition("seed+A88-XDS").xds
    assert rules.resource_timeout(frozenset()) == (15.0, True)
    assert rules.resource_timeout(feature) == (30.0, False)
    ads = Ads(replace(rules, server_features=feature))
    ads.subscribe(Kind.CLUSTER, "a")
    ads.stream_started()
    ads.timer_fired(Kind.CLUSTER, "a")
    outcome = ads.outcome(Kind.CLUSTER, "a")
    assert isinstance(outcome, Absent)
    assert not outcome.is_gone


def test_time_begins_anew_for_what_was_only_lost() -> None:
    ads = subscribed("a")
    ads.stream_ended(BROKEN)
    assert StartTimer(Kind.CLUSTER, "a") in ads.stream_started()


def test_what_a_lost_stream_means_is_a_rule() -> None:
    ads = subscribed(
        "a", stream_end_is_error=lambda _answered: True, reports_lost_stream=lambda _n, _t: True
    )
    respond(ads, "1", good("a"))
    assert Changed(Kind.CLUSTER, "a") in ads.stream_ended(BROKEN)
