"""List the gRFCs that are newer than the wordings of the catalogue.

The input is a checkout of grpc/proposal, or its git directory. A gRFC is listed for one of these:

- it is in the catalogue, and its file changed after the date of the wording there;
- it is not in the catalogue, changed after that date, and amends a gRFC that is, by the head
  "Updated by" of the other gRFC or by its own head "Updates";
- it is not in the catalogue, changed after that date, and refers to a gRFC that is.

CONTRIBUTING.md says what to do then.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
DOCUMENTS: Final = ROOT / "conformance" / "spec" / "catalogue" / "documents.toml"

NAME: Final = re.compile(r"\bA\d+(?=[-:\]\s.,)]|$)")
FILE: Final = re.compile(r"(A\d+)-[^/]*\.md")
HEAD: Final = re.compile(r"^\s*\*\s*(Updated by|Updates):(.*(?:\n[ \t]+(?!\*).*)*)", re.MULTILINE)


class Text(NamedTuple):
    """A gRFC in the checkout."""

    name: str
    changed: dt.date
    subject: str
    content: str


class News(NamedTuple):
    """A gRFC that is newer than the catalogue, and the gRFCs of the catalogue that it concerns."""

    text: Text
    how: str
    concerns: tuple[str, ...]

    def __str__(self) -> str:
        """Return the line that is printed."""
        of = f" {', '.join(self.concerns)}" if self.concerns else ""
        return f"{self.text.changed}  {self.text.name:5} {self.how}{of}: {self.text.subject}"


def catalogued(documents: str) -> dict[str, dt.date]:
    """Return the date of the wording of each gRFC in the catalogue; `documents` is its list."""
    found: dict[str, dt.date] = {}
    for edition in tomllib.loads(documents)["edition"]:
        if "date" in edition:
            name = edition["id"].partition("-")[0]
            found[name] = max(edition["date"], found.get(name, dt.date.min))
    return found


def amendments(text: Text) -> Iterator[tuple[str, str]]:
    """Yield pairs of gRFCs by the head of a text: one that amends, and the amended one."""
    for how, names in HEAD.findall(text.content):
        for name in NAME.findall(names):
            yield (name, text.name) if how == "Updated by" else (text.name, name)


def news(
    texts: Iterable[Text], known: Mapping[str, dt.date], since: dt.date = dt.date.min
) -> list[News]:
    """Return the gRFCs that are newer than the catalogue, by the dates of their last changes.

    Args:
        texts: the gRFCs of the checkout.
        known: the date of the wording of each gRFC in the catalogue.
        since: changes of earlier days are left out.
    """
    texts = [text for text in texts if text.changed >= since]
    amended: dict[str, set[str]] = {}
    for text in texts:
        for amending, older in amendments(text):
            amended.setdefault(amending, set()).add(older)
    found = []
    for text in texts:
        if text.name in known:
            if text.changed > known[text.name]:
                found.append(News(text, "changed", ()))
            continue
        earlier = {name for name, date in known.items() if date < text.changed}
        amends = earlier & amended.get(text.name, set())
        refers = earlier & set(NAME.findall(text.content))
        if amends or refers:
            how = "amends" if amends else "refers to"
            found.append(News(text, how, in_order(amends or refers)))
    return sorted(found, key=lambda each: (each.how, each.text.changed, each.text.name))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of their numbers."""
    return tuple(sorted(names, key=lambda name: int(name[1:])))


def read(checkout: Path) -> Iterator[Text]:
    """Yield the gRFCs of a checkout at its HEAD.

    Raises:
        subprocess.CalledProcessError: it is no checkout.
    """
    for path in git(checkout, "ls-tree", "--name-only", "HEAD").split("\n"):
        named = FILE.fullmatch(path)
        if named is None:
            continue
        date, _, subject = git(
            checkout, "log", "-1", "--format=%cs %s", "HEAD", "--", path
        ).partition(" ")
        content = git(checkout, "show", f"HEAD:{path}")
        yield Text(named[1], dt.date.fromisoformat(date), subject.strip(), content)


def git(checkout: Path, *words: str) -> str:
    """Return the output of git."""
    command = ["git", "-C", str(checkout), *words]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def main(words: Sequence[str] | None = None) -> int:
    """Print the news; return 1 if there are any, and 2 if the checkout cannot be read."""
    parser = argparse.ArgumentParser(prog="ci/watch_texts", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of grpc/proposal")
    parser.add_argument(
        "--since",
        type=dt.date.fromisoformat,
        default=dt.date.min,
        metavar="DATE",
        help="leave out texts that have not changed since this day",
    )
    options = parser.parse_args(words)
    known = catalogued(DOCUMENTS.read_text("utf-8"))
    try:
        found = news(read(options.checkout), known, options.since)
    except (OSError, subprocess.CalledProcessError) as trouble:
        said = getattr(trouble, "stderr", None) or str(trouble)
        sys.stderr.write(f"{options.checkout} is no checkout of grpc/proposal: {said.strip()}\n")
        return 2
    sys.stdout.write("".join(f"{each}\n" for each in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
