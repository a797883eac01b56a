"""A maintainer changes a crate of grpc-rust, and the verdict changes with it.

The crates of these tests are stand-ins without dependencies, and the adapter is a program that
starts the reference client. The build, its manifest and cargo are the real ones.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import fingerprint
from client_under_test.environments.sources import version_of
from client_under_test.manifests.clients import find

LINKED = Path(__file__).parents[2] / "adapters" / "linked" / "adapter.py"
REFERENCE = find("reference").manifest
CLAUSE = "A42-RING-05"
ONE = ("--scenario", "ring.size[[]minimum-not-divisible]", "--jobs", "1")
MUTANT = "conformance.mutation.mutants.ring_hash.ring:rounded_down"

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")

PROGRAM = """
use std::os::unix::process::CommandExt;
fn main() {
    let mut command = std::process::Command::new(PYTHON);
    command.args(["-I", ADAPTER]).env("LINKED_VERSION", env!("TONIC_XDS_VERSION"));
    if tonic_xds::rounds_down() {
        command.env("XDSPEC_REFERENCE_MUTANT", MUTANT);
    }
    panic!("{}", command.exec());
}
"""

DEPENDENCIES = """
[package]
name = "adapter"
version = "0.0.0"
edition = "2024"
[[bin]]
name = "adapter"
path = "adapter.rs"
[dependencies]
tonic-xds = "=0.1.0-alpha.4"
xds-client = "=0.1.0-alpha.4"
"""


FOLLOWS = """
[[ring-key-formats]]
format = "ip:port_i"
[[editions]]
follows = ["A42", "A61"]
"""


def quoted(text: object) -> str:
    """A string in Rust, and in TOML."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """The adapter's folder, but for what depends on the real crates."""
    folder = tmp_path / "rust"
    shutil.copytree(find("rust").folder, folder)
    (folder / "adapter.rs").write_text(
        f"const PYTHON: &str = {quoted(sys.executable)};\n"
        f"const ADAPTER: &str = {quoted(LINKED)};\nconst MUTANT: &str = {quoted(MUTANT)};\n"
        f"{PROGRAM}"
    )
    (folder / "Cargo.toml").write_text(DEPENDENCIES)
    (folder / "expected.toml").unlink()
    toml = (folder / "client.toml").read_text("utf-8")
    able = next(line for line in toml.splitlines() if line.startswith("capabilities"))
    own = ", ".join(map(quoted, REFERENCE.capabilities))
    toml = toml.replace(able, f"capabilities = [{own}]")
    (folder / "client.toml").write_text(f"{toml}{FOLLOWS}")
    return folder


def crate(folder: Path, name: str, code: str = "", more: str = "", version: str = "") -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lib.rs").write_text(code)
    said = f'version = "{version}"' if version else "version.workspace = true"
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nedition = "2021"\n{said}\n[dependencies]\n{more}\n'
    )
    return folder


def checkout(folder: Path, version: str = "0.1.0-alpha.9") -> Path:
    """A workspace whose crates share a version, and where the token is in the second crate."""
    folder.mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text(
        '[workspace]\nmembers = ["tonic-xds", "xds-client"]\nresolver = "2"\n'
        f'[workspace.package]\nversion = "{version}"\n'
    )
    needs = f'xds-client = {{ version = "{version}", path = "../xds-client" }}'
    code = "pub fn rounds_down() -> bool { xds_client::rounds_down() }"
    crate(folder / "tonic-xds", "tonic-xds", code, needs)
    crate(folder / "xds-client", "xds-client", "pub fn rounds_down() -> bool { false }")
    return folder


@pytest.mark.slow
@needs_cargo
async def test_a_changed_token_changes_the_verdict(
    xdspec: Any, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    folder = checkout(tmp_path / "grpc-rust, mine @ü")
    before = fingerprint.digest([folder])
    words = ("run", str(adapter), "--source", str(folder), *ONE)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert fingerprint.digest([folder]) == before, "nothing is written there"
    assert good.out.splitlines()[-1].startswith(f"rust 0.1.0-alpha.9 ({folder}, sha256 ")

    library = folder / "xds-client" / "src" / "lib.rs"
    library.write_text(library.read_text().replace("false", "true"))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"

    library.write_text("nonsense")
    broken = await xdspec.run(*words)
    assert broken.code == 6, broken.said
    assert "xds-client/src/lib.rs" in broken.said
    assert "the whole log: " in broken.said
    library.write_text("pub fn rounds_down() -> bool { false }")
    again = await xdspec.run(*words)
    assert again.code == 0, again.said
    assert "using the cached build of rust 0.1.0-alpha.9" in again.said


def released(folder: Path) -> Path:
    return crate(folder / "crate", "tonic-xds", version="0.1.0-alpha.4")


def without_version(folder: Path) -> Path:
    file = checkout(folder) / "Cargo.toml"
    file.write_text('[workspace]\nmembers = ["tonic-xds", "xds-client"]\n')
    return folder


def broken(folder: Path) -> Path:
    (checkout(folder) / "tonic-xds" / "Cargo.toml").write_text("[package")
    return folder


@pytest.mark.parametrize(
    ("make", "version"),
    [
        (released, "0.1.0-alpha.4"),
        (checkout, "0.1.0-alpha.9"),
        (lambda folder: crate(folder / "tonic-xds", "tonic-xds", version="0.1.0").parent, "0.1.0"),
    ],
)
def test_the_version_is_that_of_tonic_xds(
    make: Callable[[Path], Path], version: str, tmp_path: Path
) -> None:
    assert version_of(find("rust").built_from(make(tmp_path))) == version


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder, "it has no tonic-xds/Cargo.toml"),
        (lambda folder: crate(folder / "a", "tonic", version="1.0.0"), "that of the crate tonic"),
        (
            lambda folder: checkout(folder) / "tonic-xds",
            "this crate belongs to a workspace: did you mean ",
        ),
        (lambda folder: checkout(folder) / "tonic-xds" / "src", "did you mean "),
        (without_version, "tonic-xds/Cargo.toml has no version"),
        (broken, "tonic-xds/Cargo.toml cannot be read: "),
        (
            lambda folder: checkout(folder, "0.1.0-alpha.1"),
            "is version 0.1.0-alpha.1, and the adapter of rust is for >=0.1.0-alpha.2",
        ),
    ],
)
def test_crates_that_cannot_be_judged(
    make: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource) as refused:
        version_of(find("rust").built_from(make(tmp_path)))
    assert says in str(refused.value)
