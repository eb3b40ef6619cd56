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
    """A small data set in place of the real ones."""
    content = {"ratings.csv": b"1,2,3\n", "README.txt": b"read me\n"}
    parts = tuple(
        DataSetFile(name, len(told), hashlib.sha256(told).hexdigest(), needed=name == "ratings.csv")
        for name, told in content.items()
    )
    archive = DataSetFile("little.zip", 1, "0")
    little = DataSet(
        "little", "Little", "https://example.org", "https://example.org/l", "free", archive, parts
    )
    monkeypatch.setattr(data_sets, "DATA_SETS", (little,))
    return little, content


def fill(folder, content):
    """The files, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, told in content.items():
        (folder / name).write_bytes(told)


def states(path):
    """What check finds, by file name."""
    return {finding.part: finding.state for finding in check_files(str(path))}


@pytest.mark.parametrize("layout", ["folder", "outer", "zip", "zip in folder"])
def test_a_whole_copy(known, tmp_path, layout):
    """The unpacked folder, the folder above it, the archive, and a folder that holds the archive."""
    _, content = known
    if "zip" in layout:
        with zipfile.ZipFile(tmp_path / "little.zip", "w") as archive:
            for name, told in content.items():
                archive.writestr(f"little/{name}", told)
        place = tmp_path if "folder" in layout else tmp_path / "little.zip"
    else:
        fill(tmp_path / "little", content)
        place = tmp_path if layout == "outer" else tmp_path / "little"
    assert states(place) == {"ratings.csv": "as published", "README.txt": "as published"}


def test_one_file(known, tmp_path):
    """A single file is known by its name."""
    fill(tmp_path, known[1])
    assert states(tmp_path / "README.txt") == {"README.txt": "as published"}


def test_a_changed_copy(known, tmp_path):
    """The sentence gives size and sum of both, and where to get it."""
    little, content = known
    fill(tmp_path, content | {"ratings.csv": b"1,2,4\n"})
    assert states(tmp_path) == {"ratings.csv": "different", "README.txt": "as published"}
    (told,) = data_sets.list_differences(str(tmp_path))
    for word in (hashlib.sha256(b"1,2,4\n").hexdigest(), little.parts[0].sha256, "6 bytes", little.address):
        assert word in told


def test_what_is_not_needed_raises_no_doubt(known, tmp_path):
    """Another README changes no result."""
    fill(tmp_path, known[1] | {"README.txt": b"other"})
    assert data_sets.list_differences(str(tmp_path)) == []


def test_a_readme_of_something_else_is_no_fault(known, tmp_path):
    """It is looked at only beside the file that makes the data set."""
    fill(tmp_path / "little", known[1])
    fill(tmp_path / "other", {"README.txt": b"of another"})
    assert states(tmp_path) == {"ratings.csv": "as published", "README.txt": "as published"}


@pytest.mark.parametrize("content", [{}, {"notes.txt": b"x"}])
def test_nothing_known(known, tmp_path, content):
    """A folder without any known file is an error that names those."""
    fill(tmp_path, content)
    with pytest.raises(
        InputError, match=r"contains no file of a known data set \(ratings\.csv, README\.txt\)"
    ):
        check_files(str(tmp_path))


def test_a_damaged_archive(known, tmp_path):
    """A member whose sum is wrong inside the archive is told by its path."""
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
def test_find(known, tmp_path, monkeypatch, place, named):
    """The set's own folder, its files, or its archive; by option or by TUTELAGE_DATA."""
    little, _ = known
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x")
    expected = file.parent if file.name == "ratings.csv" and named == "." else file
    text = str(tmp_path / named)
    assert locate(little, text) == expected
    monkeypatch.setenv("TUTELAGE_DATA", text)
    assert locate(little, None) == expected


def test_find_nothing(known, tmp_path, monkeypatch):
    """No folder named, an empty one, or a file of something else."""
    little, _ = known
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    assert locate(little, None) is None
    assert locate(little, str(tmp_path)) is None
    (tmp_path / "notes.txt").touch()
    assert locate(little, str(tmp_path / "notes.txt")) is None


def test_every_known_set_can_be_checked_and_got():
    """Address, page, licence, and at least one file that simulating needs, with a sum of 64 digits."""
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
    """What TUTELAGE_DATA holds has the sizes and sums that are told."""
    findings = check_files(str(data))
    assert {finding.part for finding in findings} >= {"ratings.csv", "grenoble.k7.gz"}
    assert {finding.state for finding in findings} == {"as published"}
