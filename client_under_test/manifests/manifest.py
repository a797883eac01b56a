"""The manifest of a client's folder: the tables of its client.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from client_under_test.contract.exceptions import NoSuchVersion, UnknownClient, UnknownKnob
from client_under_test.contract.messages import Capability, OptionValue
from client_under_test.manifests.version_ranges import is_within

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
    cores: Annotated[float, msgspec.Meta(ge=0.01, le=1024)] | None = None
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
    `program --version`. If `of` names a library, the program only
    reports the library's version: the library is missing if the program does not answer.
    """

    program: _Words
    of: _Words | None = None
    get: _Words
    at_least: str | None = None
    ask: _Command | None = None


class Build(_Table, frozen=True, kw_only=True):
    """A command that fills the folder `{output}` from the sources in `{folder}`.

    With `versions`, the command can do so for any version in that range, which is `{version}`.
    `{cache}` is a folder of this client that stays between builds, for incremental compilers.

    A build is reused while all that it read is unchanged. `sources` lists the files and folders
    that it reads besides the client's own folder, relative to that one. A command that writes the
    paths of such files into `{output}/inputs.txt`, one a line, need not list them. Without
    `sources`, and without that file, the command runs each time.

    `environment` names the variables that change what is built.

    `lock` is the file of the folder that pins every package of the manifest's own version by a
    hash, as `go.sum` does. Other versions are resolved at each build; the report states the result.
    """

    command: _Command
    versions: str | None = None
    lock: _Words | None = None
    tools: tuple[Tool, ...] = ()
    sources: tuple[_Words, ...] | None = None
    environment: tuple[_Words, ...] = ()


class Source(_Table, frozen=True, kw_only=True):
    """How the client is built from sources that the user has, such as a checkout.

    `of` says what they may be. `inspect` prints a JSON object for the sources in `{source}`:
    their `version`, as the library says it. If it fails, the user reads its standard error.
    `build` fills `{output}`, as the command of `[build]` does. `{python}` is the suite's Python.

    A client with a `[python]` table needs neither: `{source}` is installed. Then `environment` has
    the variables for its build.

    A program that the adapter starts, such as a proxy, needs no build. `start_environment` has the
    variables that name it to the adapter, such as `MY_PROXY = "{source}"`. With a `build` that
    copies the program, they name the copy in `{output}`, which stays during a run. The rest
    of the client is then as in its release.
    """

    of: _Words
    inspect: _Command | None = None
    build: _Command | None = None
    environment: dict[str, str] = {}
    start_environment: dict[str, str] = {}

    @property
    def is_program(self) -> bool:
        """Return whether the source is a program that the adapter starts."""
        return bool(self.start_environment)


class Refs(_Table, frozen=True, kw_only=True):
    """How a registry resolves names that are no versions, such as branches and commits.

    `of` describes these names. `resolve` prints a JSON object for the name in `{ref}`: either its
    `version`; or its `source`, a folder to build from, with a `name`, a `commit`, and a `ref` that
    resolves to the same source again. If the command fails, the user sees its standard error.
    `{cache}` is a folder of this client in which the command may keep sources.
    """

    of: _Words
    resolve: _Command


class KnobPassing(_Table, frozen=True, kw_only=True):
    """One of both: the channel option, or the environment variable, that carries a knob."""

    option: _Words | None = None
    environment: _Words | None = None


class Evidence(_Table, frozen=True, kw_only=True):
    """The evidence that the client implements an edition.

    `at` is the source: a release note, a table of features, a pull request. `says` summarizes it.
    `since` is the first release that implements the edition according to the source; the range
    starts there.
    """

    at: _Url
    says: _Words
    since: _Words | None = None


class Editions(_Table, frozen=True, kw_only=True):
    """gRFCs that the client says it follows in these versions; several tables add up."""

    versions: str = ""
    follows: tuple[Edition, ...]
    evidence: Evidence | None = None


class RingKeyFormat(_Table, frozen=True, kw_only=True):
    """How ring entries are named in these versions, if the client tells, or `unknown`."""

    versions: str = ""
    format: _Words


class Choice(_Table, frozen=True, kw_only=True):
    """What these versions of the client do where a clause leaves the choice to it."""

    versions: str = ""
    clause: _Words
    choice: _Words


class Variant(_Table, frozen=True, kw_only=True):
    """An environment under which the same client follows other editions."""

    environment: dict[str, str]
    versions: str = ""
    follows_also: tuple[Edition, ...] = ()
    follows_not: tuple[Edition, ...] = ()
    evidence: Evidence | None = None


# From a millisecond to a day: what is beyond is a slip of the pen.
_Seconds = Annotated[float, msgspec.Meta(ge=0.001, le=86400)]


class Backoff(_Table, frozen=True, kw_only=True):
    """How long an endpoint that failed is left alone, in seconds from the attempt's start.

    The first backoff is `initial` long, each further one `multiplier` times as long, up to
    `longest`; any may be shorter, or longer, by `jitter` times itself. `compounds`: the next one is
    a multiple of this one as it was drawn.
    """

    initial: _Seconds
    multiplier: Annotated[float, msgspec.Meta(ge=1, le=1000)]
    longest: _Seconds
    jitter: Annotated[float, msgspec.Meta(ge=0, lt=1)]
    compounds: bool = False


class Manifest(_Table, frozen=True, kw_only=True):
    """A checked client.toml."""

    name: _Name
    issues: _Url
    capabilities: tuple[Capability, ...]
    start: Start
    version: str | None = None  # needed unless [python] gives it
    python: PythonEnvironment | None = None
    build: Build | None = None
    source: Source | None = None
    refs: Refs | None = None
    knobs: dict[Knob, KnobPassing] = {}
    editions: tuple[Editions, ...] = ()
    ring_key_formats: tuple[RingKeyFormat, ...] = ()
    choices: tuple[Choice, ...] = ()
    variants: dict[_Name, Variant] = {}
    dialect: Dialect | None = None
    backoff: Backoff | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The programs that the client needs."""
        return self.build.tools if self.build is not None else ()

    def editions_of(self, version: str, variant: str | None = None) -> tuple[str, ...]:
        """Return the editions that this version and variant declare, in the file's order.

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
        """Return the declared format of ring keys in this version, or None."""
        stated = (t.format for t in self.ring_key_formats if is_within(version, t.versions))
        return next(stated, None)

    def choices_of(self, version: str) -> dict[str, str]:
        """Return the choices that the manifest declares for this version, by clause."""
        stated = [choice for choice in self.choices if is_within(version, choice.versions)]
        return {choice.clause: choice.choice for choice in reversed(stated)}

    def variant(self, name: str) -> Variant:
        """Return the variant of this name.

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
