"""The known data sets, and copies of them checked."""

import dataclasses
import hashlib
import zipfile

import pytest

from tutelage.errors import InputError
from tutelage.experiments import data_sets
from tutelage.experiments.data_sets import DATA_SETS, DataSet, DataSetFile, check_files, locate


@pytest.fixture
def known(monkeypatch):
    """A small data set that replaces the real ones."""
    content = {"ratings.csv": b"1,2,3\n", "README.txt": b"read me\n"}
    parts = tuple(
        DataSetFile(name, len(data), hashlib.sha256(data).hexdigest(), needed=name == "ratings.csv")
        for name, data in content.items()
    )
    archive = DataSetFile("little.zip", 1, "0")
    little = DataSet("little", "Little", "https://example.org", "https://example.org/l", "free", archive, parts)
    monkeypatch.setattr(data_sets, "DATA_SETS", (little,))
    return little, content


def write_files(folder, content):
    """Write the files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)


def find_states(path):
    """Return the states that check_files finds, by file name."""
    return {finding.part: finding.state for finding in check_files(str(path))}


@pytest.mark.parametrize("layout", ["folder", "outer", "zip", "zip in folder"])
def test_a_whole_copy(known, tmp_path, layout):
    """It may be unpacked, in a parent folder, an archive, or an archive in a folder."""
    _, content = known
    if "zip" in layout:
        with zipfile.ZipFile(tmp_path / "little.zip", "w") as archive:
            for name, data in content.items():
                archive.writestr(f"little/{name}", data)
        place = tmp_path if "folder" in layout else tmp_path / "little.zip"
    else:
        write_files(tmp_path / "little", content)
        place = tmp_path if layout == "outer" else tmp_path / "little"
    assert find_states(place) == {"ratings.csv": "as published", "README.txt": "as published"}


def test_one_file(known, tmp_path):
    """A single file is recognised by its name."""
    write_files(tmp_path, known[1])
    assert find_states(tmp_path / "README.txt") == {"README.txt": "as published"}


def test_a_changed_copy(known, tmp_path):
    """The sentence has the sizes and sums of both, and the address."""
    little, content = known
    write_files(tmp_path, content | {"ratings.csv": b"1,2,4\n"})
    assert find_states(tmp_path) == {"ratings.csv": "different", "README.txt": "as published"}
    (sentence,) = data_sets.list_differences(str(tmp_path))
    for word in (hashlib.sha256(b"1,2,4\n").hexdigest(), little.parts[0].sha256, "6 bytes", little.address):
        assert word in sentence


def test_a_changed_file_that_is_not_needed(known, tmp_path):
    """Another README does not change results, so no warning is shown."""
    write_files(tmp_path, known[1] | {"README.txt": b"other"})
    assert data_sets.list_differences(str(tmp_path)) == []


def test_a_readme_of_something_else_is_ignored(known, tmp_path):
    """A README counts only in the folder of a data set."""
    write_files(tmp_path / "little", known[1])
    write_files(tmp_path / "other", {"README.txt": b"of another"})
    assert find_states(tmp_path) == {"ratings.csv": "as published", "README.txt": "as published"}


@pytest.mark.parametrize("content", [{}, {"notes.txt": b"x"}])
def test_a_folder_without_known_files(known, tmp_path, content):
    """The error lists the known files."""
    write_files(tmp_path, content)
    with pytest.raises(InputError, match=r"contains no file of a known data set \(ratings\.csv, README\.txt\)"):
        check_files(str(tmp_path))


def test_a_damaged_archive(known, tmp_path):
    """The error names the member whose checksum is wrong."""
    path = tmp_path / "little.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("ratings.csv", known[1]["ratings.csv"])
    path.write_bytes(path.read_bytes().replace(b"1,2,3\n", b"1,2,4\n"))
    with pytest.raises(InputError, match=r"little\.zip/ratings\.csv.* cannot be read"):
        check_files(str(path))


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("little/ratings.csv", "."),
        ("ratings.csv", "."),
        ("ratings.csv", "ratings.csv"),
        ("little.zip", "."),
        ("little.zip", "little.zip"),
    ],
)
def test_locate(known, tmp_path, monkeypatch, place, named):
    """A copy is found in its own folder, as files or as an archive, by option or by TUTELAGE_DATA."""
    little, _ = known
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x")
    expected = file.parent if file.name == "ratings.csv" and named == "." else file
    text = str(tmp_path / named)
    assert locate(little, text) == expected
    monkeypatch.setenv("TUTELAGE_DATA", text)
    assert locate(little, None) == expected


def test_locate_nothing(known, tmp_path, monkeypatch):
    """No copy is found without a folder, in an empty one, and in another file."""
    little, _ = known
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    assert locate(little, None) is None
    assert locate(little, str(tmp_path)) is None
    (tmp_path / "notes.txt").touch()
    assert locate(little, str(tmp_path / "notes.txt")) is None


def test_every_data_set_is_described():
    """It has address, page and licence, and a file that simulations need, with sums of 64 digits."""
    for each in DATA_SETS:
        assert each.address.startswith("https://")
        assert each.page.startswith("https://")
        assert each.licence
        assert any(part.needed for part in each.parts)
        for part in (*each.parts, *([each.archive] if each.archive else [])):
            assert len(part.sha256) == 64
            assert part.size > 0
        assert each.address in data_sets.describe_download(each)
    assert len({each.name for each in DATA_SETS}) == len(DATA_SETS)
    assert all(dataclasses.is_dataclass(each) for each in DATA_SETS)


def test_real_files_are_as_published(data):
    """The files in TUTELAGE_DATA have the published sizes and sums."""
    findings = check_files(str(data))
    assert {finding.part for finding in findings} >= {"ratings.csv", "grenoble.k7.gz"}
    assert {finding.state for finding in findings} == {"as published"}
