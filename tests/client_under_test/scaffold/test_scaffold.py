from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from client_under_test import doctor, find, prepare, scaffold
from client_under_test.contract.exceptions import ClientTrouble
from client_under_test.contract.messages import NEWEST
from client_under_test.manifests.manifest_file import read

CONTRACT = Path(scaffold.__file__).parents[1] / "contract"

EVERY = os.environ.get("XDSPEC_TEST_SCAFFOLDS") == "all"
"""Maven's and Cargo's first build of anything takes longer than all other tests together."""

BUILT = {  # and what must be on the machine
    "python": (),
    "node": ("node", "npm"),
    "go": ("go",),
    "java": ("javac", "mvn"),
    "rust": ("cargo",),
}
SLOW = {"java", "rust"}


def test_the_languages() -> None:
    assert set(scaffold.languages()) == {*BUILT, "other"}
    assert scaffold.languages()[-1] == "other"


@pytest.mark.parametrize("language", scaffold.languages())
def test_what_is_written(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "c++ client"
    files = scaffold.write(language, folder)
    assert {path for path in folder.rglob("*") if path.is_file()} == {folder / f for f in files}
    assert read(folder).name == "cclient"
    assert find(str(folder)).folder == folder
    for name in ("contract.md", "contract.schema.json"):
        assert (folder / name).read_text() == (CONTRACT / name).read_text()
    readme = (folder / "README.md").read_text()
    assert all(f"`{path}`" in readme for path in files if path.name != "README.md")
    assert f"version {NEWEST} (copies)" in readme
    assert f'"contract": {NEWEST}}}' in readme
    assert "$" not in (folder / "client.toml").read_text() + readme
    assert "[[expected]]" in (folder / "expected.toml").read_text()


def test_a_folder_that_is_not_free(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    scaffold.write("python", tmp_path / "some")
    before = {path: path.read_bytes() for path in (tmp_path / "some").iterdir()}
    for folder, why in (
        (tmp_path / "some", "is not empty: name a folder that is"),
        (tmp_path / "some" / "adapter.py", "is a file: name a folder"),
        (tmp_path / "some" / "adapter.py" / "deeper", "cannot be written: Not a directory"),
    ):
        with pytest.raises(ClientTrouble, match=why):
            scaffold.write("go", folder)
    assert {path: path.read_bytes() for path in (tmp_path / "some").iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("language", BUILT)
async def test_it_is_built_and_says_hello(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing := [program for program in BUILT[language] if shutil.which(program) is None]:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
    if language in SLOW and not EVERY:
        pytest.skip("its build is slow: XDSPEC_TEST_SCAFFOLDS=all asks for it")
    if language != "python":
        monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    scaffold.write(language, folder)
    sources = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    pinned = "@1.85.1" if language == "python" else ""
    found = await doctor.examine(prepare(find(f"{folder}{pinned}")), folder=tmp_path)
    verdicts = {finding.check: finding.verdict for finding in found}
    right = {name for name, verdict in verdicts.items() if verdict == "ok"}
    assert right == {"hello", "not-a-request", "unknown-request", "unknown-channel"}
    (wrong,) = [finding for finding in found if finding.verdict == "wrong"]
    assert wrong.check == "open-channel"
    assert "open_channel is not written yet" in wrong.seen
    assert {finding.waits_for for finding in found if finding.verdict == "skipped"} == {wrong.check}
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == sources
