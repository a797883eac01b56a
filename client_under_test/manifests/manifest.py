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
    """How the adapter is started."""

    command: _Command
    """The program and its arguments. `{folder}` is the client's folder, `{output}` the folder that
    the build filled, `{python}` the Python of the client's environment, and `{version}` the exact
    version."""
    cores: Annotated[float, msgspec.Meta(ge=0.01, le=1024)] | None = None
    """The processors that one process keeps busy on average. The suite then runs no more of them at
    once than there are processors."""
    reads_late: tuple[_Words, ...] | None = None
    """Advanced, to start faster; leave it out at first. For an adapter in Python: the environment
    variables that are read only after its imports, as in `["GRPC_XDS_BOOTSTRAP_CONFIG"]`. Processes
    whose other variables are equal are then forked from one that has done the imports. The imports
    must start no thread."""
    environment: dict[str, str] = {}
    """Environment variables for the adapter."""
    asks: dict[str, _Words] = {}
    """Environment variables that the user must set, each with a description. The report prints
    their values."""


class PythonEnvironment(_Table, frozen=True, kw_only=True):
    """The client is a distribution of a Python package index. Users may ask for any version."""

    distribution: _Name
    """The name of the distribution."""
    version: str | None = None
    """The version that runs if the user names none; without it, the newest."""
    beside: tuple[_Requirement, ...] = msgspec.field(default=(), name="with")
    """What the adapter needs besides, with exact versions: `["grpcio==1.85.1"]`."""


class Tool(_Table, frozen=True, kw_only=True):
    """A program that the build or the client needs. `xdspec doctor` looks for all of them."""

    program: _Words
    """The name of the program."""
    of: _Words | None = None
    """The library whose version the program reports. The library is missing if the program does not
    answer."""
    get: _Words
    """How a user gets it."""
    at_least: str | None = None
    """The lowest version that is enough."""
    ask: _Command | None = None
    """The command that prints the version, as its first number; without it, `program --version`."""


class Build(_Table, frozen=True, kw_only=True):
    """How the adapter is built. A build is reused while all that it read is unchanged.

    An interpreted client uses it to install its packages into `{output}`; the `client.toml` and
    `build.sh` of the `node` adapter are an example.
    """

    command: _Command
    """The command that fills the folder `{output}` from the sources in `{folder}`, and writes
    nowhere else. `{version}` is the version to build, and `{cache}` a folder that stays between
    builds, for incremental compilers."""
    versions: str | None = None
    """The range of versions that the command can build, as in `>=1.4`. Without it, only `version`.
    """
    lock: _Words | None = None
    """The file that pins every package of the manifest's own version by a hash, such as `go.sum`.
    Other versions are resolved at each build, and the report states the result."""
    tools: tuple[Tool, ...] = ()
    """The programs that the build or the client needs."""
    sources: tuple[_Words, ...] | None = None
    """The files and folders outside of the client's folder that the build reads, such as a checkout
    of the library, relative to the client's folder. Write `[]` if there are none. The suite then
    builds again only if one of them, the client's folder or a tool changes. Without this key it
    builds for each command. A build can instead list what it read in `{output}/inputs.txt`, one
    path a line."""
    environment: tuple[_Words, ...] = ()
    """The names of environment variables that change what is built."""


class Source(_Table, frozen=True, kw_only=True):
    """How the client is built from sources that the user has: `--source PATH`.

    A client with a `[python]` table needs no such table: the suite installs the wheel, sdist or
    checkout at `PATH`.
    """

    of: _Words
    """What `PATH` may be, as in `a checkout of grpc-go`."""
    inspect: _Command | None = None
    """A command that prints the version of the library in `{source}`, as in
    `{"version": "1.86.0-dev"}`. If it fails, the user sees its standard error."""
    build: _Command | None = None
    """The command in place of that of `[build]`. It fills `{output}` from `{folder}` and
    `{source}`. `{python}` is the suite's Python."""
    environment: dict[str, str] = {}
    """Environment variables for the build."""
    start_environment: dict[str, str] = {}
    """Environment variables that name a program to the adapter, as in `MY_PROXY = "{source}"`.
    The adapter itself is then as in its release. With a `build` that copies the program, use
    `{output}`."""

    @property
    def is_program(self) -> bool:
        """Return whether the source is a program that the adapter starts."""
        return bool(self.start_environment)


class Refs(_Table, frozen=True, kw_only=True):
    """How names that are no versions, such as branches and commits, are resolved."""

    of: _Words
    """What these names are, for messages."""
    resolve: _Command
    """A command that prints a JSON object for the name in `{ref}`: its `version`; or its `source`,
    a folder to build from, with a `name`, a `commit`, and a `ref` that resolves to this source
    again. `{cache}` is a folder that stays. If the command fails, the user sees its standard error.
    """


class KnobPassing(_Table, frozen=True, kw_only=True):
    """How a knob reaches the client: by a channel option or by an environment variable.

    A knob is a setting that some scenarios need, such as `ring_size_cap`.
    """

    option: _Words | None = None
    """The name in the `options` of `open_channel`; the value is a number."""
    environment: _Words | None = None
    """The environment variable of the process; the value is written in digits."""


class Evidence(_Table, frozen=True, kw_only=True):
    """The evidence that the client implements an edition."""

    at: _Url
    """The source: a release note, a table of features, a pull request."""
    says: _Words
    """A summary of it."""
    since: _Words | None = None
    """The first release with the edition, according to the source. `versions` must start there."""


class Editions(_Table, frozen=True, kw_only=True):
    """The editions of gRFCs that these versions claim to follow; several tables add up."""

    versions: str = ""
    """The range of versions; without it, all."""
    follows: tuple[Edition, ...]
    """The editions; `xdspec list editions` prints all."""
    evidence: Evidence | None = None
    """Where the client claims that."""


class RingKeyFormat(_Table, frozen=True, kw_only=True):
    """How these versions name the entries of a ring. The client must then use that format."""

    versions: str = ""
    """The range of versions; without it, all."""
    format: _Words
    """`ip:port_i`, `/ip:port_i`, `[/ip:port]_i`, `ip:porti`, or `unknown`."""


class Choice(_Table, frozen=True, kw_only=True):
    """What these versions do where a clause leaves a choice. The choice is then binding."""

    versions: str = ""
    """The range of versions; without it, all."""
    clause: _Words
    """The id of the clause."""
    choice: _Words
    """The name of the choice; `xdspec explain CLAUSE` lists them."""


class Variant(_Table, frozen=True, kw_only=True):
    """An environment under which the same client follows other editions: `CLIENT+NAME`."""

    environment: dict[str, str]
    """The environment variables, such as a guard."""
    versions: str = ""
    """The range of versions that have the variant; without it, all."""
    follows_also: tuple[Edition, ...] = ()
    """The editions that it follows in addition."""
    follows_not: tuple[Edition, ...] = ()
    """The editions that it does not follow."""
    evidence: Evidence | None = None
    """Where the client claims that."""


# From a millisecond to a day: what is beyond is a slip of the pen.
_Seconds = Annotated[float, msgspec.Meta(ge=0.001, le=86400)]


class Backoff(_Table, frozen=True, kw_only=True):
    """How long the client waits, from the start of an attempt, before it connects again."""

    initial: _Seconds
    """The first backoff, in seconds."""
    multiplier: Annotated[float, msgspec.Meta(ge=1, le=1000)]
    """The factor from one backoff to the next."""
    longest: _Seconds
    """The longest backoff without its jitter, in seconds."""
    jitter: Annotated[float, msgspec.Meta(ge=0, lt=1)]
    """The largest difference of a backoff from its nominal length, as a share of that length."""
    compounds: bool = False
    """True if the next backoff is a multiple of this one with its jitter."""


class Manifest(_Table, frozen=True, kw_only=True):
    """A checked client.toml."""

    name: _Name
    """The client's name in reports."""
    issues: _Url
    """The issue tracker of the maintainers."""
    capabilities: tuple[Capability, ...]
    """What client and adapter can do; `hello` reports the same."""
    start: Start
    version: str | None = None  # needed unless [python] gives it
    """The version of the client; `hello` reports the same. Required unless there is a `[python]`
    table."""
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
    """`envoy` for a client that understands Envoy's configuration and not gRPC's."""
    backoff: Backoff | None = None

    @property
    def any_source(self) -> Source | None:
        """How the client is built from sources: a [python] table alone is enough."""
        if self.source is not None or self.python is None:
            return self.source
        return Source(of=f"a wheel, an sdist or a checkout of {self.python.distribution}")

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
