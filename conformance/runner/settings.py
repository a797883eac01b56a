"""What the command tells the processes that run scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from conformance.runner.selection import Selection
from conformance.runner.targets import Target
from regular_files import read_bytes

FAILOVER_KNOB = "failover_timeout_ms"

LEAST: Final = {"XDSPEC_TIME_SCALE": 0.01, "XDSPEC_SOAK": 3.0}
"""Variables that `conformance.timing` reads, with the least that makes sense: a soak needs a storm
and the calm after it."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the scenarios, against one client, several to compare, or many mutants."""

    subjects: tuple[Target, ...] = ()
    """None: scenarios are only listed."""
    seed: int = 0
    out: str = ""
    """The folder that gets the evidence."""
    scratch: str = ""
    command: int = 0
    """The process id of the command; its workers die with it."""
    keep_evidence: bool = False
    """True if scenarios that pass leave their evidence folder too."""
    fast: bool = False
    """True if clients' timers are shortened where they have a knob for it."""
    isolated: bool = False
    """Set if each scenario gets a process of the client that no other scenario uses."""
    all_wait: bool = False
    """Set if no scenario ends early, although the cause of its failure is known in this run."""
    known_failures: tuple[str, ...] = ()
    """Scenarios in which the baseline expects a failure: they never end early."""
    repeat: str = ""
    """The beginning of the command that runs one scenario again. It omits the values of `--env`,
    since evidence is shared. Empty if no such command is known."""
    selection: Selection = Selection()

    @property
    def labeled(self) -> tuple[Target, ...]:
        """Return the subjects of a run of several: mutants, or the clients of a comparison."""
        return tuple(subject for subject in self.subjects if subject.label)

    def hurries(self, subject: Target) -> bool:
        """Return whether this client's failover timer is shortened if a scenario waits for it."""
        return self.fast and FAILOVER_KNOB in subject.prepared.client.manifest.knobs

    def write(self, path: Path) -> None:
        """Write them for another process."""
        path.write_bytes(self.encoded())

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read what another process has written."""
        return cls.decoded(read_bytes(path))

    def encoded(self) -> bytes:
        """As another process is given them, as JSON."""
        return msgspec.json.encode(self, enc_hook=_path_as_text)

    @classmethod
    def decoded(cls, given: bytes) -> Settings:
        """Decode settings that another process has encoded."""
        return msgspec.json.decode(given, type=cls, dec_hook=_text_as_path)


def _path_as_text(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _text_as_path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind.__name__)
