"""Makes the suite's own environment from the lock file, once, then becomes the command.

Uses the standard library only: this runs before anything is installed. The environment is made
again when the lock, the project's metadata or the Python changes, but not under a command that uses
it: another checkout may be configured to use the same folder.
"""

# ruff: noqa: E402 - a signal may come while modules are loaded

from __future__ import annotations

import os
import signal

INTERRUPTED = 2
signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))

import fcntl
import hashlib
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = Path(os.environ.get("XDSPEC_VENV") or ROOT / ".venv")
PYTHON = ENVIRONMENT / "bin" / "python"
STAMP = ENVIRONMENT / "xdspec.stamp"
LOCK = ROOT / "requirements.lock"
PACKAGES = (
    "conformance",
    "fake_control_plane",
    "test_servers",
    "client_under_test",
    "pytest_xdspec",
    "regular_files",
    "request_filter",
)

PROMPT = "xdspec"

GUARD = ROOT / "client_under_test" / "supervision" / "supervisor.py"
MAKE = "--make-environment"

BAD_INPUT = 4

# The newest Python for which every package of the lock is ready-made: google-re2 has nothing newer.
READY_MADE = (3, 14)


def fingerprint() -> str:
    """Return all inputs of the environment as one string."""
    parts = [sys.version.encode(), os.fsencode(ROOT)]
    parts += [(ROOT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_current(wanted: str) -> bool:
    """Return whether the existing environment matches the files."""
    return STAMP.is_file() and STAMP.read_text("utf-8", "replace") == wanted and PYTHON.exists()


def pinned(name: str) -> str:
    """Return the lock's lines for one distribution: its version and hashes."""
    rows = re.split(r"^(?=[A-Za-z0-9])", LOCK.read_text("utf-8"), flags=re.MULTILINE)
    return next(row for row in rows if row.startswith(f"{name}=="))


def installer_settings() -> dict[str, str]:
    """Return the environment that gives uv the package index and the certificate of pip's settings.

    uv does not read pip's configuration: without this, a machine that reaches packages only
    through its company's index would fail here.
    """
    listed = subprocess.run(
        [str(PYTHON), "-m", "pip", "config", "list"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    told = dict(re.findall(r"^(?:global|install|:env:)\.([a-z-]+)='(.*)'$", listed, re.MULTILINE))
    as_uv_says = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "cert": "SSL_CERT_FILE",
    }
    return {
        variable: told[key]
        for key, variable in as_uv_says.items()
        if key in told and variable not in os.environ
    }


def line_for(folder: Path) -> str:
    """Return the line of a .pth file that adds a folder to `sys.path`, in ASCII.

    Python 3.11 and 3.12 decode such files by the locale: with LC_ALL=C, no Python would start that
    reads another letter in one.
    """
    return f"import sys; sys.path.append({str(folder)!a})\n"


def require_own_folder() -> None:
    """See that the folder to be emptied is this suite's own, even one that was half made.

    Raises:
        FileExistsError: it has other files: XDSPEC_VENV, or a link, may lead anywhere.
    """
    settings = ENVIRONMENT / "pyvenv.cfg"  # the first file of an environment
    is_own = STAMP.exists() or (
        settings.is_file() and f"prompt = {PROMPT!r}" in settings.read_text("utf-8", "replace")
    )
    if not is_own and ENVIRONMENT.exists() and any(ENVIRONMENT.iterdir()):
        raise FileExistsError(
            f"{ENVIRONMENT} has files that xdspec did not make: remove it, or name another folder "
            "in XDSPEC_VENV"
        )


def make(wanted: str) -> None:
    """Make the environment; its stamp is written last, so that a broken one is made again."""
    require_own_folder()
    print(f"xdspec: making {ENVIRONMENT} from {LOCK.name}: once, in a minute", file=sys.stderr)
    venv.EnvBuilder(clear=True, with_pip=True, prompt=PROMPT).create(ENVIRONMENT)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as first:
        first.write(pinned("uv"))
        first.flush()
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "--requirement", first.name], check=True)
    uv = [str(ENVIRONMENT / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON)]
    for arguments in (
        ["--compile-bytecode", "--require-hashes", "--requirement", str(LOCK)],
        ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
    ):
        subprocess.run([*uv, *arguments], check=True, env={**os.environ, **installer_settings()})
    for path in ENVIRONMENT.glob("lib/python*/site-packages/_editable_impl_*.pth"):
        path.write_text(line_for(ROOT), "ascii")
    # Each of many processes would compile it all again where PYTHONDONTWRITEBYTECODE is set, as in
    # many container images. Where it cannot be kept, that is only slower.
    sources = [str(ROOT / package) for package in PACKAGES]
    subprocess.run([str(PYTHON), "-m", "compileall", "-qq", *sources], check=False)
    STAMP.write_text(wanted, "utf-8")


def make_guarded(wanted: str) -> None:
    """Make it in a process whose guard ends all that it has started, should this one be killed."""
    own = (sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), "-1", "-1")
    code = subprocess.run(
        (*own, sys.executable, "-I", __file__, MAKE, wanted), check=False
    ).returncode
    if code:
        sys.exit(code if code > 0 else BAD_INPUT)


def hold(wanted: str) -> None:
    """Have the environment as it is wanted, and shared until the command is over."""
    path = ENVIRONMENT.parent / f"{ENVIRONMENT.name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)
    except OSError:
        if is_current(wanted):  # a read-only environment needs no lock
            return
        raise
    os.set_inheritable(held, True)  # the command has it open as long as it lasts
    while True:
        fcntl.flock(held, fcntl.LOCK_SH)  # wait for a process that makes it
        if is_current(wanted):
            return
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told = f"waiting until no other command uses {ENVIRONMENT}, to make it again"
            print(f"xdspec: {told}", file=sys.stderr)
            fcntl.flock(held, fcntl.LOCK_EX)
        if not is_current(wanted):
            make_guarded(wanted)


def main() -> None:
    """Make what is missing, then run the command in this process's place."""
    if sys.argv[1:2] == [MAKE]:
        make(sys.argv[2])
        return
    hold(fingerprint())
    # From here on a signal waits until the command can heed it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    os.execv(PYTHON, [str(PYTHON), "-m", "conformance", *sys.argv[1:]])  # noqa: S606


def told(trouble: OSError | subprocess.CalledProcessError) -> str:
    """One sentence of what went wrong, and what to do about it where that is known."""
    words = str(trouble)
    if isinstance(trouble, subprocess.CalledProcessError):
        said = (trouble.output or b"").decode("utf-8", "replace").split("\n")
        words = ": ".join([words.rstrip("."), *[line for line in said if line.strip()][-1:]])
        if "ensurepip" in trouble.cmd:
            return f"{words}; install what this Python's venv module needs (Debian: python3-venv)"
    if sys.version_info[:2] > READY_MADE:
        newest = ".".join(map(str, READY_MADE))
        return (
            f"{words}; some packages have to be compiled for a Python newer than {newest}:"
            f" install one from 3.11 to {newest}, or name it in XDSPEC_PYTHON"
        )
    return words


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as trouble:
        print(f"xdspec: could not make {ENVIRONMENT}: {told(trouble)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
