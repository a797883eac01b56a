"""Check that the editions, key formats and choices of a manifest exist in the suite."""

from __future__ import annotations

from collections.abc import Iterator

from client_under_test.contract.exceptions import BadManifest
from client_under_test.manifests.clients import Client
from client_under_test.manifests.manifest import Choice, Manifest
from client_under_test.manifests.manifest_file import FILE
from client_under_test.manifests.toml_file import contents, place
from conformance.judging.ring_keys import CLAUSE, UNKNOWN
from conformance.spec.catalogue import load
from conformance.spec.oracles.ring.keys import KEY_FORMATS


def editions_there_are() -> str:
    """Return the names of all editions, as the end of a sentence."""
    return f"there are {', '.join(load().editions.ids)} (`xdspec list editions`)"


def check(client: Client) -> None:
    """See that a client's manifest states nothing but what there is.

    Raises:
        BadManifest: it states an unknown edition, ring key format or choice.
    """
    file = client.folder / FILE
    for field, why in _unknown(client.manifest):
        raise BadManifest(f"{file}: {field}: {why}{place(contents(file), field)}")


def _unknown(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Fields, and what is wrong with what they state."""
    for field, edition in _editions(manifest):
        if edition not in load().editions:
            yield field, f"{edition} is not an edition: {editions_there_are()}"
    for number, table in enumerate(manifest.ring_key_formats):
        if table.format not in {*KEY_FORMATS, UNKNOWN}:
            known = f"there are {', '.join(KEY_FORMATS)}, and {UNKNOWN}"
            why = f"no format that is known: {known}; without this table the suite finds it out"
            yield f"ring-key-formats[{number}].format", f"{table.format} is {why}"
    for number, choice in enumerate(manifest.choices):
        if wrong := _wrong_with(choice):
            field, _, why = wrong.partition(": ")
            yield f"choices[{number}].{field}", why


def _wrong_with(stated: Choice) -> str | None:
    """Return what is wrong with a declared choice, and where."""
    known = load()
    if stated.clause == CLAUSE:
        return f"clause: {CLAUSE} is stated by [[ring-key-formats]]"
    if stated.clause not in known:
        return f"clause: {stated.clause} is no clause (`xdspec list clauses`)"
    choices = known[stated.clause].choices
    if not choices:
        can = ", ".join(clause.id for clause in known if clause.choices)
        return f"clause: no choice can be stated of {stated.clause}, but of {can}"
    if stated.choice not in choices:
        return f"choice: {stated.choice} is none that is known: there are {'; '.join(choices)}"
    return None


def _editions(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Fields, and the editions that they have."""
    tables = [
        (f"editions[{n}].follows", edition.follows) for n, edition in enumerate(manifest.editions)
    ]
    for name, variant in manifest.variants.items():
        tables.append((f"variants.{name}.follows-also", variant.follows_also))
        tables.append((f"variants.{name}.follows-not", variant.follows_not))
    return ((field, edition) for field, editions in tables for edition in editions)
