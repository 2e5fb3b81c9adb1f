"""Archives that strangers made: what is plain comes out, and nothing else is written anywhere."""

import io
import tarfile
import zipfile

import pytest

from lmrbench.errors import SourceError
from lmrbench.tasks.sources import unpack as unpacking
from lmrbench.tasks.sources.unpack import unpack


def tar_of(file, *members):
    with tarfile.open(file, "w:gz") as archive:
        for member in members:
            data = b"text"
            if member.isreg():
                member.size = len(data)
            archive.addfile(member, io.BytesIO(data) if member.isreg() else None)
    return file


def member(name, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_of(file, *names):
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    return file


def files_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_one_folder_of_a_source_distribution_is_left_out(tmp_path):
    file = tar_of(tmp_path / "a.tar.gz", member("a-1.0", tarfile.DIRTYPE), member("a-1.0/x.py"), member("a-1.0/b/y.py"))
    unpack(file, tmp_path / "out")
    assert files_below(tmp_path / "out") == ["b/y.py", "x.py"]


def test_a_wheel_stays_as_it_is(tmp_path):
    unpack(zip_of(tmp_path / "a.whl", "a/x.py", "a-1.0.dist-info/METADATA"), tmp_path / "out")
    assert files_below(tmp_path / "out") == ["a-1.0.dist-info/METADATA", "a/x.py"]


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a/../../x.py", "a\\..\\x.py"])
def test_paths_that_lead_out_are_refused(tmp_path, name):
    with pytest.raises(SourceError, match="is not a path inside the archive"):
        unpack(zip_of(tmp_path / "a.zip", name), tmp_path / "out")
    assert not (tmp_path / "x.py").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    file = tar_of(tmp_path / "a.tar.gz", member("a/x.py"), member("a/y.py", kind, "/etc/passwd"))
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        unpack(file, tmp_path / "out")


def test_a_file_that_comes_twice_is_not_written_over(tmp_path):
    with pytest.raises(FileExistsError):
        unpack(tar_of(tmp_path / "a.tar.gz", member("a/x.py"), member("a/x.py")), tmp_path / "out")


def test_bounds_on_count_and_size(tmp_path, monkeypatch):
    file = zip_of(tmp_path / "a.zip", "x.py", "y.py", "z.py")
    monkeypatch.setattr(unpacking, "MOST_FILES", 2)
    with pytest.raises(SourceError, match="more than 2 files"):
        unpack(file, tmp_path / "many")
    monkeypatch.setattr(unpacking, "MOST_FILES", 3)
    monkeypatch.setattr(unpacking, "MOST_BYTES", 11)
    with pytest.raises(SourceError, match="when unpacked"):
        unpack(file, tmp_path / "large")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_what_is_no_archive_is_said_to_be_damaged(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(SourceError, match="can't be unpacked"):
        unpack(tmp_path / name, tmp_path / "out")
