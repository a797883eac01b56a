"""Lines of localities: what they say, and who has which share by them."""

import pytest

from conformance.arranging.localities import Place, places, shares_of


def test_places() -> None:
    found = places("a b:3 | c- d!|E f+")
    assert found == (
        (Place("a"), Place("b", 3)),
        (Place("c", state="-"), Place("d", state="!")),
        (Place("E"), Place("f", state="+")),
    )


@pytest.mark.parametrize("line", ["ab", "a:", "a?", "a:-1", ":3", "a-!"])
def test_no_place(line: str) -> None:
    with pytest.raises(ValueError, match="is no locality"):
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
    ],
)
def test_shares(line: str, wanted: dict[str, tuple[int, int]]) -> None:
    assert shares_of(line) == wanted
