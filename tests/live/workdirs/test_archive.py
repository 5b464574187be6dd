"""Archives of snapshots: the same files give the same bytes, and nothing leaves the folder."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.live.workdirs import archive
from motet.live.workdirs.archive import Archive, archive_names, unpack_archive, write_archive

NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8)
FILES = st.dictionaries(
    NAMES.filter(lambda name: not name.startswith(".")).map(lambda name: name + "~"),
    st.tuples(st.binary(max_size=2000), st.booleans()),
    max_size=6,
)
FOLDERS = st.dictionaries(st.sampled_from(["", "a", "a/b", "c"]), FILES, max_size=4)
Contents = Mapping[str, tuple[bytes, bool]]


def write_files(folder: Path, found: Mapping[str, Contents], at_s: int) -> None:
    """`at_s`: the time of the last change."""
    for place, files in found.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name, (data, is_program) in files.items():
            path = folder / place / name
            path.write_bytes(data)
            path.chmod(0o750 if is_program else 0o604)
            os.utime(path, (at_s, at_s))


def files_below(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(folder: Path, path: Path) -> Archive:
    with path.open("w+b") as file:
        return write_archive(folder, file)


@given(FOLDERS)
def test_the_same_files_are_the_same_bytes_and_come_back(found: dict[str, Contents]) -> None:
    with tempfile.TemporaryDirectory() as name:
        one, two, back = (Path(name) / each for each in ("one", "two", "back"))
        for folder in (one, two, back):
            folder.mkdir()
        write_files(one, found, 1_000_000_000)
        write_files(two, dict(reversed(found.items())), 2_000_000_000)
        first, second = written(one, Path(name) / "1.tar"), written(two, Path(name) / "2.tar")
        assert first == second
        assert first.files == sum(map(len, found.values()))
        assert (Path(name) / "1.tar").read_bytes() == (Path(name) / "2.tar").read_bytes()
        unpack_archive(Path(name) / "1.tar", back)
        assert files_below(back) == files_below(one)
        listed = {str(path.relative_to(one)) for path in one.rglob("*")}
        assert archive_names(Path(name) / "1.tar") == listed


def test_links_within_the_folder_are_kept(tmp_path: Path) -> None:
    folder, back = tmp_path / "folder", tmp_path / "back"
    (folder / "a").mkdir(parents=True)
    back.mkdir()
    (folder / "file").write_text("text")
    (folder / "a" / "link").symlink_to("../file")
    written(folder, tmp_path / "x.tar")
    unpack_archive(tmp_path / "x.tar", back)
    assert (back / "a" / "link").readlink() == Path("../file")


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "a/../../x"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(target)
    with pytest.raises(BadInput, match=rf"folder/link: a link out of the folder, to {target}"):
        written(folder, tmp_path / "x.tar")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(BadInput, match=r"folder/pipe: not a file; leave it out in \.motetignore"):
        written(folder, tmp_path / "x.tar")


def test_a_folder_that_is_too_large_names_its_largest_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for size in (10, 4_000_000, 3, 2):
        (folder / f"of-{size}").write_bytes(bytes(size))
    monkeypatch.setattr(archive, "MOST_BYTES", 4_000_000)
    with pytest.raises(BadInput, match=r"largest so far: of-4000000 4\.0 MB, of-10 0\.0 MB"):
        written(folder, tmp_path / "x.tar")


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info.tobuf(tarfile.PAX_FORMAT) + bytes(-(-size // 512) * 512)


OUTSIDE = "outside of its folder"
BEHIND = "behind a link"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([member("/etc/x")], OUTSIDE),
        ([member("../x")], OUTSIDE),
        ([member("a/../../x")], OUTSIDE),
        ([member("a", tarfile.SYMTYPE, "/etc")], "a link out of the folder"),
        ([member("a", tarfile.SYMTYPE, "..")], "a link out of the folder"),
        ([member("b", tarfile.DIRTYPE), member("a", tarfile.SYMTYPE, "b"), member("a/x")], BEHIND),
        ([member("a", tarfile.SYMTYPE, "b"), member("a")], BEHIND),
        ([member("a", tarfile.LNKTYPE, "b")], "no file"),
        ([member("a", tarfile.CHRTYPE)], "no file"),
        ([member("a", tarfile.FIFOTYPE)], "no file"),
        ([b"x" * 1024], "no tar file"),
    ],
)
def test_an_archive_that_would_write_elsewhere_is_refused(
    tmp_path: Path, members: list[bytes], reason: str
) -> None:
    path, folder = tmp_path / "x.tar", tmp_path / "folder"
    path.write_bytes(b"".join(members) + bytes(1024))
    folder.mkdir()
    with pytest.raises(BadInput, match=reason):
        archive_names(path)
    with pytest.raises((BadInput, tarfile.TarError), match=r".*"):
        unpack_archive(path, folder)
    assert not any(each.is_file() for each in folder.rglob("*"))


def test_a_sparse_file_counts_with_its_whole_size(tmp_path: Path) -> None:
    info = tarfile.TarInfo("large")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    info.pax_headers |= {"GNU.sparse.realsize": str(10**15), "GNU.sparse.name": "large"}
    content = b"1\n0\n0\n".ljust(512, b"\0")
    info.size = len(content)
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as file:
        file.addfile(info, io.BytesIO(content))
    with pytest.raises(BadInput, match="more than 50,000 files or"):
        archive_names(tmp_path / "x.tar")
