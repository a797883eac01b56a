"""A maintainer installs another gRPC C++ into a prefix, and the verdict changes with it.

The libraries of these tests are stand-ins, and the adapter is a program that starts the reference
client. The build, its manifest, pkg-config and the compiler are the real ones.
"""

from __future__ import annotations

import shutil
import subprocess
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

needs_compiler = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("c++", "ar", "pkg-config")),
    reason="needs c++, ar and pkg-config",
)

PROGRAM = """
#include <grpcpp/grpcpp.h>
#include <cstdlib>
#include <unistd.h>
int main() {
  setenv("LINKED_VERSION", grpc::Version().c_str(), 1);
  if (grpc::RoundsDown()) setenv("XDSPEC_REFERENCE_MUTANT", MUTANT, 1);
  execl(PYTHON, PYTHON, "-I", ADAPTER, nullptr);
}
"""

HEADER = """
#include <string>
namespace grpc { std::string Version(); bool RoundsDown(); }
"""

LIBRARY = """
#include <grpcpp/grpcpp.h>
bool grpc_rounds_down();
namespace grpc {
std::string Version() { return "1.99.0"; }
bool RoundsDown() { return grpc_rounds_down(); }
}
"""

CORE = "bool grpc_rounds_down() { return false; }"

# As gRPC's CMake files write it: the prefix is where it was installed first.
DESCRIBED = """
prefix=/somewhere/else
exec_prefix=${prefix}
includedir=${prefix}/include
libdir=${exec_prefix}/PLACE
Name: NAME
Description: a stand-in
Version: 1.99.0
REQUIRES
Cflags: -I${includedir}
Libs: -L${libdir} -lNAME
"""


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """The adapter's folder, but for what depends on the real library."""
    folder = tmp_path / "cpp"
    shutil.copytree(find("cpp").folder, folder)
    names = {"PYTHON": sys.executable, "ADAPTER": LINKED, "MUTANT": MUTANT}
    defined = "".join(f'#define {name} "{value}"\n' for name, value in names.items())
    (folder / "adapter.cc").write_text(defined + PROGRAM)
    (folder / "expected.toml").unlink()
    toml = (folder / "client.toml").read_text("utf-8")
    able = next(line for line in toml.splitlines() if line.startswith("capabilities"))
    own = ", ".join(f'"{capability}"' for capability in REFERENCE.capabilities)
    (folder / "client.toml").write_text(toml.replace(able, f"capabilities = [{own}]"))
    return folder


def described(folder: Path, place: str = "lib") -> Path:
    """A prefix with what pkg-config reads, and a header."""
    (folder / place / "pkgconfig").mkdir(parents=True)
    (folder / "include" / "grpcpp").mkdir(parents=True)
    (folder / "include" / "grpcpp" / "grpcpp.h").write_text(HEADER)
    for name, requires in (("grpc++", "Requires: grpc"), ("grpc", "")):
        text = DESCRIBED.replace("NAME", name).replace("PLACE", place)
        file = folder / place / "pkgconfig" / f"{name}.pc"
        file.write_text(text.replace("REQUIRES", requires))
    return folder


def installed(folder: Path, place: str, core: str = CORE) -> None:
    """Put libraries into a prefix: shared ones, or those of `static`."""
    sources = folder.parent / "sources"
    sources.mkdir(exist_ok=True)
    libraries = folder / place
    made: list[list[str | Path]]
    for name, code in (("grpc", core), ("grpc++", LIBRARY)):
        file = sources / f"{name}.cc"
        file.write_text(code)
        if folder.name == "static":
            made = [["c++", "-c", f"-I{folder}/include", "-o", f"{file}.o", file]]
            made.append(["ar", "rcs", libraries / f"lib{name}.a", f"{file}.o"])
        else:
            soname = f"lib{name}.so"
            output: list[str | Path] = ["-o", libraries / soname, f"-Wl,-soname,{soname}"]
            beside = ["-L", str(libraries), "-lgrpc"] if name == "grpc++" else []
            made = [["c++", "-shared", "-fPIC", f"-I{folder}/include", file, *output, *beside]]
        for command in made:
            subprocess.run(command, check=True, capture_output=True)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "place"),
    [
        pytest.param("shared: mine, @ü", "lib", marks=pytest.mark.slow),
        pytest.param("static", "lib64", marks=pytest.mark.slow),
        pytest.param("debian", "lib/x86_64-linux-gnu", marks=pytest.mark.slow),
    ],
)
async def test_a_changed_token_changes_the_verdict(
    name: str,
    place: str,
    xdspec: Any,
    adapter: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = described(tmp_path / name, place)
    installed(folder, place)
    before = fingerprint.digest([folder])
    words = ("run", str(adapter), "--source", str(folder), *ONE)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert fingerprint.digest([folder]) == before, "nothing is written there"
    assert good.out.splitlines()[-1].startswith(f"cpp 1.99.0 ({folder}, sha256 ")

    installed(folder, place, CORE.replace("false", "true"))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"


def said_by(adapter: Path) -> str:
    """What an adapter answers to hello."""
    hello = '{"type": "hello", "id": 1}\n'
    done = subprocess.run([adapter], check=True, capture_output=True, text=True, input=hello)
    return done.stdout


@pytest.mark.slow
@needs_compiler
async def test_the_build_does_not_need_the_prefix_any_more(
    xdspec: Any, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shared libraries may change during a run."""
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = described(tmp_path / "prefix")
    installed(folder, "lib")
    words = ("run", str(adapter), "--source", str(folder), *ONE)
    assert (await xdspec.run(*words)).code == 0
    (built,) = (tmp_path / "cache" / "builds").glob("cpp-1.99.0-*")
    shutil.rmtree(folder)
    assert '"version":"1.99.0"' in said_by(built / "adapter")

    folder = described(tmp_path / "prefix")
    installed(folder, "lib")
    (folder / "include" / "grpcpp" / "grpcpp.h").write_text("#error nonsense")
    broken = await xdspec.run(*words)
    assert broken.code == 6, broken.said
    assert "#error nonsense" in broken.said
    assert "the whole log: " in broken.said


def checkout(folder: Path) -> Path:
    (folder / "include" / "grpcpp").mkdir(parents=True)
    (folder / "CMakeLists.txt").touch()
    return folder


def lacking(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (described(folder) / name).unlink()
        return folder

    return make


def edited(old: str, new: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        file = described(folder) / "lib" / "pkgconfig" / "grpc++.pc"
        file.write_text(file.read_text().replace(old, new))
        return folder

    return make


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder, "it has no lib/pkgconfig/grpc++.pc"),
        (lambda folder: described(folder / "usr").parent, "usr?"),
        (lambda folder: described(folder) / "lib", "did you mean "),
        (checkout, "it is a checkout. Install it into a folder with `cmake --install BUILD"),
        (lacking("include/grpcpp/grpcpp.h"), "it has no include/grpcpp/grpcpp.h"),
        (edited("Version", "Is"), "grpc++.pc has no Version"),
        (edited("1.99.0", "1.51.1"), "is version 1.51.1, and the adapter of cpp is for >=1.54"),
        (
            lambda folder: described(folder) / "include" / "grpcpp" / "grpcpp.h",
            "it is a file",
        ),
    ],
)
def test_prefixes_that_cannot_be_judged(
    make: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource) as refused:
        version_of(find("cpp").built_from(make(tmp_path)))
    assert says in str(refused.value)
