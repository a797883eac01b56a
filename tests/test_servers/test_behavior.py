import grpc
import pytest

from test_servers.behavior import Behavior, Fail, KeepOpen, NotABehavior, Sleep, parse


@pytest.mark.parametrize(
    ("values", "behaviors"),
    [
        ([], ()),
        (["sleep-2"], (Sleep(2.0),)),
        (["sleep-0.25"], (Sleep(0.25),)),
        (["keep-open"], (KeepOpen(),)),
        (["error-code-14"], (Fail(grpc.StatusCode.UNAVAILABLE),)),
        (["error-code-1"], (Fail(grpc.StatusCode.CANCELLED),)),
        (["sleep-1, error-code-8"], (Sleep(1.0), Fail(grpc.StatusCode.RESOURCE_EXHAUSTED))),
        (["sleep-1", "keep-open"], (Sleep(1.0), KeepOpen())),
    ],
)
def test_items_are_read_in_turn(values: list[str], behaviors: tuple[Behavior, ...]) -> None:
    assert parse(values) == behaviors


@pytest.mark.parametrize(
    "item",
    [
        "",
        "sleep",
        "sleep--1",
        "sleep-x",
        "sleep-1s",
        "error-code-0",
        "error-code-17",
        "keep-closed",
        "error-code-٣",
        "sleep-" + "9" * 5000,
        "error-code-" + "9" * 5000,
    ],
)
def test_what_is_no_behavior_is_named(item: str) -> None:
    with pytest.raises(NotABehavior, match=f"'{item}' is no behavior"):
        parse([f"sleep-1,{item}"])
