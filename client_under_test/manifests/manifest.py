"""client.toml: what a client's folder says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from client_under_test.complaint import Complaint, converted
from client_under_test.contract import Capability, OptionValue
from client_under_test.exceptions import BadManifest, NoSuchVersion, UnknownClient, UnknownKnob

FILE: Final = "client.toml"

Knob = Literal[
    "ring_size_cap",  # entries
    "initial_backoff_ms",
    "max_backoff_ms",
    "connect_timeout_ms",
    "failover_timeout_ms",
    "dns_min_interval_ms",
]

# Whose words for what is served the client understands, if not gRPC's.
Dialect = Literal["envoy"]

_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_Words = Annotated[str, msgspec.Meta(min_length=1)]
# A gRFC, one of its dated wordings, or Envoy's own ways: the catalogue of clauses knows which.
Edition = _Words
_Command = Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1)]
_Requirement = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][^\s,]*$")]
_Url = Annotated[str, msgspec.Meta(pattern=r"^https?://")]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A table of the file."""


class Start(_Table, frozen=True, kw_only=True):
    """How the adapter is started.

    In `command`, `{python}` is the Python of the client's environment, `{folder}` the client's
    folder, `{version}` the exact version and `{output}` what was built. `asks` has the environment
    variables that the user must set, each with what it is; the report tells their values.

    An adapter in Python that starts nothing while it is imported may say which environment
    variables are read only after its imports: its processes are forked from one that has done
    them, as long as their environment differs in nothing else.

    A client that keeps a good part of a processor busy says how much in `cores`: then no more of it
    run at once than there are processors for.
    """

    command: _Command
    cores: Annotated[float, msgspec.Meta(gt=0)] | None = None
    reads_late: tuple[_Words, ...] | None = None
    environment: dict[str, str] = {}
    asks: dict[str, _Words] = {}


class PythonEnvironment(_Table, frozen=True, kw_only=True):
    """The client is a distribution of a Python package index; any version can be had by name.

    `version` is the one that is meant where none is named; without it that is the newest. What the
    adapter needs besides the client is listed as `with`, as in `with = ["grpcio==1.85.1"]`.
    """

    distribution: _Name
    version: str | None = None
    beside: tuple[_Requirement, ...] = msgspec.field(default=(), name="with")


class Tool(_Table, frozen=True, kw_only=True):
    """A program that the client is built or run with, and what a user types to get it.

    The first number in what `ask` prints is its version; without `ask`, that is
    `program --version`.
    """

    program: _Words
    get: _Words
    at_least: str | None = None
    ask: _Command | None = None


class Build(_Table, frozen=True, kw_only=True):
    """A command that fills the folder `{output}` from the sources in `{folder}`.

    With `versions`, it can do so for any version in that range, and is told which as `{version}`.
    """

    command: _Command
    versions: str | None = None
    tools: tuple[Tool, ...] = ()


class KnobPassing(_Table, frozen=True, kw_only=True):
    """One of both: the channel option, or the environment variable, that carries a knob."""

    option: _Words | None = None
    environment: _Words | None = None


class Editions(_Table, frozen=True, kw_only=True):
    """gRFCs that the client says it follows in these versions; several tables add up."""

    versions: str = ""
    follows: tuple[Edition, ...]


class RingKeyFormat(_Table, frozen=True, kw_only=True):
    """How ring entries are named in these versions, if the client tells."""

    versions: str = ""
    format: _Words


class Variant(_Table, frozen=True, kw_only=True):
    """An environment under which the same client follows other editions."""

    environment: dict[str, str]
    versions: str = ""
    follows_also: tuple[Edition, ...] = ()
    follows_not: tuple[Edition, ...] = ()


class Manifest(_Table, frozen=True, kw_only=True):
    """A checked client.toml."""

    name: _Name
    issues: _Url
    capabilities: tuple[Capability, ...]
    start: Start
    version: str | None = None  # needed unless [python] gives it
    python: PythonEnvironment | None = None
    build: Build | None = None
    knobs: dict[Knob, KnobPassing] = {}
    editions: tuple[Editions, ...] = ()
    ring_key_formats: tuple[RingKeyFormat, ...] = ()
    variants: dict[_Name, Variant] = {}
    dialect: Dialect | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The programs that the client needs."""
        return self.build.tools if self.build is not None else ()

    def editions_of(self, version: str, variant: str | None = None) -> tuple[str, ...]:
        """What the client says it follows in this version and variant, in the file's order.

        Raises:
            NoSuchVersion: the variant does not exist in this version.
        """
        stated = [
            edition
            for table in self.editions
            if is_within(version, table.versions)
            for edition in table.follows
        ]
        if variant is not None:
            flipped = self.variant(variant)
            if not is_within(version, flipped.versions):
                raise NoSuchVersion(
                    f"variant {variant} of {self.name} is for versions {flipped.versions}, "
                    f"and this is {version}: name another version"
                )
            stated = [e for e in stated if e not in flipped.follows_not] + [*flipped.follows_also]
        return tuple(dict.fromkeys(stated))

    def ring_key_format_of(self, version: str) -> str | None:
        """The stated format of ring keys in this version, or None if the client says nothing."""
        stated = (t.format for t in self.ring_key_formats if is_within(version, t.versions))
        return next(stated, None)

    def variant(self, name: str) -> Variant:
        """The variant of this name.

        Raises:
            UnknownClient: there is none.
        """
        if name not in self.variants:
            known = ", ".join(sorted(self.variants)) or "none"
            raise UnknownClient(f"client {self.name} has no variant {name}: it has {known}")
        return self.variants[name]

    def pass_knobs(self, knobs: Mapping[str, OptionValue]) -> PassedKnobs:
        """How these knobs reach the client.

        Raises:
            UnknownKnob: the client does not offer one of them.
        """
        options: dict[str, OptionValue] = {}
        environment: dict[str, str] = {}
        for knob, value in knobs.items():
            passing = {str(k): v for k, v in self.knobs.items()}.get(knob)
            if passing is None:
                offered = ", ".join(sorted(self.knobs)) or "none"
                raise UnknownKnob(f"client {self.name} has no knob {knob}: it offers {offered}")
            if passing.option is not None:
                options[passing.option] = value
            if passing.environment is not None:
                environment[passing.environment] = str(value)
        return PassedKnobs(options, environment)


class PassedKnobs(msgspec.Struct, frozen=True):
    """Knobs in the client's own terms."""

    options: dict[str, OptionValue]
    environment: dict[str, str]


def is_within(version: str, versions: str) -> bool:
    """Whether a version is in a range such as `>=1.59,<1.65`; the empty range has every version."""
    return SpecifierSet(versions).contains(Version(version), prereleases=True)


def read(folder: Path) -> Manifest:
    """The manifest of a client's folder.

    Raises:
        BadManifest: it cannot be read or breaks a rule; one sentence with file and field.
    """
    file = folder / FILE
    try:
        return parse(file.read_bytes(), file)
    except OSError as trouble:
        raise BadManifest(f"{file}: cannot be read: {trouble.strerror}") from trouble


def parse(text: bytes, file: Path) -> Manifest:
    """The manifest in `text`; `file` is named in errors.

    Raises:
        BadManifest: it breaks a rule.
    """
    try:
        raw = msgspec.toml.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
        words = str(trouble)
        raise BadManifest(
            f"{file}: the file is not TOML: {words[:1].lower()}{words[1:]}"
        ) from trouble
    try:
        manifest = converted(raw, Manifest)
    except Complaint as wrong:
        raise BadManifest(f"{file}: {wrong}") from None
    for field, why in _broken_rules(manifest):
        raise BadManifest(f"{file}: {field}: {why}")
    return manifest


def _broken_rules(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Pairs of field and sentence, for rules that types cannot say."""
    if (manifest.version is None) == (manifest.python is None):
        yield "version", "needed if there is no [python] table, and only then"
    pinned = manifest.python.version if manifest.python is not None else None
    for field, version in (("version", manifest.version), ("python.version", pinned)):
        if version is not None and not _is_version(version):
            yield field, f"{version} is not a version such as 1.70.0"
    if manifest.python is not None and manifest.build is not None:
        yield "build", "a client has either a [python] or a [build] table"
    placeholders = {"python", "folder", "version"} | (
        {"output"} if manifest.build is not None else set()
    )
    yield from _broken_rules_of_start(manifest.start, placeholders)
    if manifest.build is not None:
        yield from _broken_rules_of_build(manifest.build)
    for knob, passing in manifest.knobs.items():
        if (passing.option is None) == (passing.environment is None):
            yield f"knobs.{knob}", "give either option or environment"
    ranges = [
        *((f"editions[{n}]", table.versions) for n, table in enumerate(manifest.editions)),
        *((f"ring-key-formats[{n}]", t.versions) for n, t in enumerate(manifest.ring_key_formats)),
        *((f"variants.{name}", variant.versions) for name, variant in manifest.variants.items()),
        *([("build", manifest.build.versions or "")] if manifest.build is not None else []),
    ]
    for field, versions in ranges:
        try:
            SpecifierSet(versions)
        except InvalidSpecifier:
            yield f"{field}.versions", f"{versions} is not a range such as >=1.59,<1.65"


def _broken_rules_of_start(start: Start, placeholders: set[str]) -> Iterator[tuple[str, str]]:
    yield from _unknown_placeholders("start.command", start.command, placeholders)
    if start.reads_late is not None and not _is_python(start.command):
        how = "`{python} -I SCRIPT` or `{python} -I -m PACKAGE`"
        yield "start.reads-late", f"only for what is started by {how}"


def _is_python(command: tuple[str, ...]) -> bool:
    """Whether it is a script or a package for Python, without arguments."""
    return command[:2] == ("{python}", "-I") and len(command) == (4 if "-m" in command else 3)


def _broken_rules_of_build(build: Build) -> Iterator[tuple[str, str]]:
    allowed = {"folder", "output"} | ({"version"} if build.versions else set())
    yield from _unknown_placeholders("build.command", build.command, allowed)
    for tool in build.tools:
        if tool.at_least is not None and not _is_version(tool.at_least):
            yield "build.tools", f"{tool.at_least} is not a version such as 1.70"


def _unknown_placeholders(
    field: str, command: tuple[str, ...], known: set[str]
) -> Iterator[tuple[str, str]]:
    for found in re.findall(r"\{(.*?)\}", " ".join(command)):
        if found not in known:
            names = ", ".join(f"{{{name}}}" for name in sorted(known))
            yield field, f"{{{found}}} is unknown here: there are {names}"


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
