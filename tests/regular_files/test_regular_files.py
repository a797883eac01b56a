"""Only regular files are read, of a bounded size, and of a stranger's folder none by a link."""

from __future__ import annotations

import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regular_files import UntrustedFolder, copy, file_name, new_folder, read_bytes, read_text


def fifo(place: Path) -> None:
    os.mkfifo(place)


def bound_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(place))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (fifo, "no regular file"),
        (lambda place: place.symlink_to("/dev/full"), "no regular file"),
        (lambda place: place.symlink_to("/dev/zero"), "no regular file"),
        (lambda place: place.symlink_to("gone"), "No such file"),
        (lambda place: place.symlink_to(place), "Too many levels"),
        (Path.mkdir, "Is a directory"),
        (lambda place: place.write_bytes(b"x" * 101), "larger than 100 bytes"),
        (lambda place: place.write_bytes(b"a\xff"), "not UTF-8: byte 1"),
    ],
)
def test_what_cannot_be_read_is_told_at_once(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    place = tmp_path / "file"
    make(place)
    with pytest.raises(OSError, match=words):
        read_text(place, most=100)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    os.truncate(place, 1 << 40)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="larger than 67,108,864 bytes"):
            read_text(place, most=64 << 20)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    bound_socket(Path("file"))
    with pytest.raises(OSError, match="No such device"):
        read_bytes(tmp_path / "file")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match=r"such a name|too long"):
        read_bytes(tmp_path / name)


def test_a_user_may_name_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("words")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "words"
    assert read_text(tmp_path / "file", most=5) == "words"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    (place / "below").mkdir(parents=True)
    (place / "below" / "file").write_text("words")
    (tmp_path / "secret").write_text("secret")
    (place / "link").symlink_to("../secret")
    (place / "away").symlink_to(tmp_path)
    return place


@pytest.mark.parametrize(
    "name", ["link", "away/secret", "../secret", "below/../../secret", "/etc/passwd", "", "below"]
)
def test_nothing_outside_of_a_folder_is_read(folder: Path, name: str) -> None:
    with UntrustedFolder(folder) as opened:
        assert not opened.has(name)
        with pytest.raises(OSError, match=r"link|outside|directory"):
            opened.read_bytes(name)
        with pytest.raises(OSError, match=r"link|outside|directory"):
            opened.read_end(name, most=10)


def test_a_file_of_a_folder_is_read(folder: Path) -> None:
    with UntrustedFolder(folder) as opened:
        assert opened.has("below/file")
        assert opened.read_text("below/file") == "words"
        assert opened.read_end("below/file", most=2) == b"ds"
        with UntrustedFolder(Path("below"), above=opened) as below:
            assert below.read_bytes("file") == b"words"


def test_the_folder_stays_the_same_whatever_is_put_in_its_place(folder: Path) -> None:
    with UntrustedFolder(folder) as opened:
        folder.rename(folder.with_name("moved"))
        folder.symlink_to("/etc")
        assert opened.read_text("below/file") == "words"
        assert not opened.has("passwd")


def test_a_folder_that_a_stranger_names_may_not_be_a_link(folder: Path) -> None:
    link = folder.with_name("to-it")
    link.symlink_to(folder)
    UntrustedFolder(link).close()
    with pytest.raises(OSError, match="it is a link"):
        UntrustedFolder(link, may_be_link=False)
    with UntrustedFolder(folder) as opened, pytest.raises(OSError, match="it is a link"):
        UntrustedFolder(Path("away/folder"), above=opened)


def test_only_regular_files_are_kept(folder: Path) -> None:
    fifo(folder / "below" / "fifo")
    with UntrustedFolder(folder) as opened:
        removed = opened.keep_regular_files()
    assert removed == ("away -> " + str(folder.parent), "below/fifo", "link -> ../secret")
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        "below",
        "below/file",
    ]
    assert (folder.parent / "secret").read_text() == "secret"


def test_a_new_folder_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "some").symlink_to("/tmp")  # noqa: S108
    (tmp_path / "some-2").symlink_to("nowhere")
    assert new_folder(tmp_path / "some") == tmp_path / "some-3"
    assert (tmp_path / "some-3").is_dir()


@given(st.text())
def test_a_name_made_of_words_stays_in_its_folder(words: str) -> None:
    name = file_name(words)
    assert name == Path(name).name
    assert name not in {"", ".", ".."}
    assert not name.startswith(("-", "."))
    assert len(name.encode()) <= 100


def test_a_good_name_stays() -> None:
    assert file_name("go-1.85.0-ring.size[by-weight]") == "go-1.85.0-ring.size[by-weight]"


def test_a_copy_is_of_no_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("words")
    (tmp_path / "link").symlink_to("file")
    copy(tmp_path / "file", tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "words"
    fifo(tmp_path / "fifo")
    for name in ("link", "fifo", "gone"):
        with pytest.raises(OSError, match=r"it is a link|no regular file|No such file"):
            copy(tmp_path / name, tmp_path / "none")
    assert not (tmp_path / "none").exists()
