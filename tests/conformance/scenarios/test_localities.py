"""Lines of localities: what they say, and who has which share by them."""

import pytest

from conformance.scenarios.helpers.localities import LocalityEndpoint, places, shares_of


def test_places() -> None:
    found = places("a b:3 | c- d!,g:2|E f+")
    assert found == (
        ((LocalityEndpoint("a"),), (LocalityEndpoint("b", 3),)),
        (
            (LocalityEndpoint("c", state="-"),),
            (LocalityEndpoint("d", state="!"), LocalityEndpoint("g", 2)),
        ),
        ((LocalityEndpoint("E"),), (LocalityEndpoint("f", state="+"),)),
    )


@pytest.mark.parametrize("line", ["ab", "a,", "a:", "a?!", "a:-1", ":3", "a-!"])
def test_no_place(line: str) -> None:
    with pytest.raises(ValueError, match="is not a locality"):
        places(line)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("a", {"a": (1, 1)}),
        ("a b:3 | c", {"a": (1, 4), "b": (3, 4)}),
        ("a- b:3 | c", {"b": (3, 3)}),
        ("a! | B | c d+", {"c": (1, 2), "d": (1, 2)}),
        ("A b:2 | c", {"b": (2, 2)}),
        ("A | b!", {}),
        ("a!,b c,d:2! | e", {"b": (1, 2), "c": (1, 2)}),
        ("a:2,b c | e", {"a": (2, 6), "b": (2, 6), "c": (1, 3)}),
        ("a!,B | c", {"c": (1, 1)}),
        ("a b? | c", {"a": (1, 1)}),
    ],
)
def test_shares(line: str, wanted: dict[str, tuple[int, int]]) -> None:
    assert shares_of(line) == wanted
