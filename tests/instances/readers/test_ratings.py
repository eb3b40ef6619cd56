"""Files of ratings: layouts, scales, and what is refused."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from tutelage.errors import InputError
from tutelage.instances.readers.files import DataFile
from tutelage.instances.readers.movies import find_movies
from tutelage.instances.readers.ratings import read_ratings

# Three users, four items; item 40 is unrated by user 3.
TRIPLES = [(1, 10, 5), (1, 20, 3), (1, 30, 1), (1, 40, 4), (2, 10, 4), (2, 20, 2), (2, 30, 2), (2, 40, 5), (3, 10, 1)]
TRIPLES += [(3, 20, 5), (3, 30, 3)]


def lines(separator, header="", time=True, half=False):
    """The triples as lines."""
    rows = [header] if header else []
    for user, item, rating in TRIPLES:
        cells = [user, item, rating - 0.5 if half else rating, *([964982703] if time else [])]
        rows.append(separator.join(str(cell) for cell in cells))
    return "\n".join(rows) + "\n"


MOVIELENS_CSV = lines(",", "userId,movieId,rating,timestamp")
LAYOUTS = [
    ("u.data", lines("\t"), (1, 5), "ml-100k"),
    ("u1.base", lines("\t"), (1, 5), "ml-100k"),
    ("ratings.dat", lines("::"), (1, 5), "ml-1m"),
    ("ratings.dat", lines("::", half=True), (0.5, 5), "ml-10M"),
    ("ml-10M100K/ratings.dat", lines("::"), (0.5, 5), "ml-10M"),
    ("ratings.csv", MOVIELENS_CSV, (0.5, 5), "ratings.csv"),
    ("mine.csv", lines(",", "user,item,rating", time=False), (1, 5), "smallest and largest rating"),
    ("mine.csv", lines(";", "User ID;Item;Score", time=False, half=True), (0.5, 4.5), "smallest and largest rating"),
    ("mine.csv", lines(",", time=False), (1, 5), "smallest and largest rating"),
    ("mine.tsv", lines("\t", "item_id\tuser_id\trating", time=False), (1, 5), "smallest and largest rating"),
]
PACKED = gzip.compress(MOVIELENS_CSV.encode(), mtime=0)  # the time of day would be in a test's name


@pytest.mark.parametrize(("name", "content", "scale", "known_by"), LAYOUTS)
def test_layouts_and_scales(write, name, content, scale, known_by):
    """Every published layout is recognised with its scale; any other file has the scale it shows."""
    ratings = read_ratings(write(name, content))
    assert ratings.scale == scale
    assert known_by in ratings.known_by
    assert ratings.values.size == len(TRIPLES)


@pytest.mark.parametrize(("name", "content", "scale", "known_by"), LAYOUTS[:6])
@pytest.mark.parametrize("packing", ["gz", "zip", "folder", "folder of gz", "zip of gz"])
def test_packings(write, tmp_path, name, content, scale, known_by, packing):
    """Plain, .gz, inside a folder, and inside the original .zip read alike."""
    plain = read_ratings(write(name, content))
    inner = {"u1.base": "u.data"}.get(name, name.rpartition("/")[2])
    folder = "ml-10M100K" if "10M" in known_by else "ml"
    if packing == "gz":
        path = write(f"{folder}/{name}.gz", gzip.compress(content.encode()))
    elif packing == "folder":
        path = str((tmp_path / write(f"x/{folder}/{inner}", content)).parent.parent)
    elif packing == "folder of gz":
        path = str((tmp_path / write(f"x/{folder}/{inner}.gz", gzip.compress(content.encode()))).parent)
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{folder}/README", "read me")
            archive.writestr(f"__MACOSX/{folder}/{inner}", "junk")
            gz = packing == "zip of gz"
            packed = gzip.compress(content.encode()) if gz else content
            archive.writestr(f"{folder}/{inner}{'.gz' if gz else ''}", packed)
        path = write("ml.zip", buffer.getvalue())
    ratings = read_ratings(path)
    assert ratings.scale == scale
    assert (ratings.user_ids, ratings.item_ids) == (plain.user_ids, plain.item_ids)
    assert ratings.values.tolist() == plain.values.tolist()


def test_text_oddities(write):
    """A byte-order mark, CRLF, empty lines, spaces and quoted fields are read through."""
    content = '\ufeff\r\n"user","item","rating"\r\n\r\n"ann, b","x ",5\r\n  bob , x,"4"\r\n\r\n'
    ratings = read_ratings(write("mine.csv", content))
    assert ratings.user_ids == ["ann, b", "bob"]
    assert ratings.item_ids == ["x"]
    assert ratings.values.tolist() == [5, 4]


def test_ids_are_numbers_only_where_written_so(write):
    """Ids sort as numbers; 007 and 7 are two users."""
    ratings = read_ratings(write("a.csv", "10,1,5\n9,1,4\n"))
    assert ratings.user_ids == ["9", "10"]
    assert read_ratings(write("b.csv", "007,1,5\n7,1,4\n")).user_ids == ["007", "7"]


def test_parts_join(write, monkeypatch):
    """A file read in many parts reads as in one, also where ids turn from numbers to words halfway."""
    content = MOVIELENS_CSV + "zoe,10,5,1\n"
    whole = read_ratings(write("ratings.csv", content))
    monkeypatch.setattr("tutelage.instances.readers.delimited._PART", 37)
    parts = read_ratings(write("ratings.csv", content))
    assert parts.user_ids == whole.user_ids == ["1", "2", "3", "zoe"]
    assert parts.users.tolist() == whole.users.tolist()
    assert parts.values.tolist() == whole.values.tolist()


def test_line_numbers_across_parts(write, monkeypatch):
    """The line at fault is named, whichever part it is in and whatever blank lines stand before it."""
    monkeypatch.setattr("tutelage.instances.readers.delimited._PART", 20)
    with pytest.raises(InputError, match=r"line 14 .*mine\.csv"):
        read_ratings(write("mine.csv", "\nuser,item,rating\n" + "".join(f"1,{i},3\n" for i in range(11)) + "1,x,bad\n"))


def test_given_scale(write):
    """scale= wins over the recognised one."""
    assert read_ratings(write("ratings.csv", MOVIELENS_CSV), "0;10").scale == (0, 10)


HEAD = "user,item,rating\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "\n\n", "is empty"),
        ("a.csv", HEAD, "no ratings"),
        ("a.csv", "user,item\n1,2\n", "no column for the rating"),
        ("a.csv", "user,user_id,item,rating\n1,1,2,3\n", "several columns for the user"),
        ("a.csv", "1,2\n", "lines of 2 fields"),
        ("a.csv", "foo,bar,baz\n1,2,3\n", "'baz'.*not a number"),
        ("a.csv", HEAD + "1,2,3\n1,3\n", "Line 3 .*no rating"),
        ("a.csv", HEAD + "1,2,3\n,3,4\n", "Line 3 .*no user"),
        ("a.csv", HEAD + "1,2,3\n1,,4\n", "Line 3 .*no item"),
        ("a.csv", HEAD + "1,2,3,5\n", "Line 2 .*4 fields.*decimal comma"),
        ("a.csv", "user;item;rating\n1;2;3,5\n1;3;2.5\n", "mixes decimal points and decimal commas"),
        ("a.csv", "user;item;rating\n1;2;3,5,0\n", "'3,5,0' .*not a number"),
        ("a.csv", HEAD + "1,2,good\n", "'good' in line 2"),
        ("a.csv", HEAD + "1,2,3\n1,3,nan\n", "'nan' in line 3"),
        ("a.csv", HEAD + "1,2,inf\n", "'inf' in line 2"),
        ("a.csv", HEAD + "1,2,3\n2,2,3\n", "All ratings .* are 3"),
        ("a.csv", HEAD + "1,2,3\n1,3,4\n1,2,5\n", "User 1 rates item 2 twice"),
        ("ratings.csv", MOVIELENS_CSV + "9,10,7,1\n", "rating 7 of item 10 by user 9 .*outside the scale 0.5 to 5"),
        ("u.data", lines("\t") + "9\t10\t0\t1\n", "outside the scale 1 to 5"),
        ("a.csv", b"\x00\x01\x02\x03", "not a text file"),
        ("a.csv", HEAD.encode() + b"1,2,3\n\x00\n", "not a text file"),
        ("a.csv", HEAD.encode() + b"Ren\xe9,2,3\n", "not UTF-8"),
        ("a.csv", b"us\xe9r,item,rating\n", "not UTF-8"),
        ("a.csv.gz", PACKED[:-12], "cannot be read"),
        ("a.csv.gz", PACKED[:20] + b"junkjunkjunkjunkjunk", "cannot be read"),
        ("a.zip", b"PK\x03\x04junk", "damaged"),
        ("a.zip", b"PK\x05\x06" + b"\0" * 18, "has no ratings file"),
    ],
)
def test_refused(write, name, content, words):
    """Empty, damaged, binary or ill-formed files are refused with the line and the remedy."""
    with pytest.raises(InputError, match=words) as caught:
        read_ratings(write(name, content))
    assert str(caught.value).endswith(".")


def test_damaged_member(write):
    """A zip whose member was cut or altered is refused."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("ml/ratings.csv", MOVIELENS_CSV)
    content = buffer.getvalue().replace(b"1,10,5", b"1,10,4", 1)
    with pytest.raises(InputError, match="cannot be read"):
        read_ratings(write("a.zip", content))


def test_folder_without_ratings(tmp_path):
    """A folder without a ratings file is refused, with the names looked for."""
    with pytest.raises(InputError, match=r"has no ratings file .*ratings\.csv"):
        read_ratings(str(tmp_path))


def test_folder_with_several(write, tmp_path):
    """A folder that holds several is refused: name one."""
    write("u.data", lines("\t"))
    write("ratings.csv", MOVIELENS_CSV)
    with pytest.raises(InputError, match="several"):
        read_ratings(str(tmp_path))


@pytest.mark.parametrize("scale", ["1", "5;1", "3;3", "a;5", "1;2;3", "1,5;2"])
def test_bad_scale(write, scale):
    """A scale is its two ends, the least first."""
    with pytest.raises(InputError, match="scale"):
        read_ratings(write("ratings.csv", MOVIELENS_CSV), scale)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x" * 140_000 + "\n1,2,3\n", "cannot be cut into fields"),
        ("1,2,3\r2,3,4\r", "carriage return within a line"),
        ("1::2::3::4\r2::3::4::4\r", "carriage return within a line"),
        ("user,item,rating\n1,1,1e308\n1,2,-1e308\n", "-1e+308 to 1e+308"),
    ],
    ids=["long", "mac", "mac-dat", "wide"],
)
def test_odd_files(write, content, words):
    """Endless lines, the line ends of old Macs and ratings without a measurable scale are refused."""
    with pytest.raises(InputError) as caught:
        read_ratings(write("r.csv", content))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 500


def test_long_line_of_movies(write):
    """So is a movies file with an endless field."""
    write("movies.csv", "movieId,title,genres\n1," + "x" * 140_000 + ",Drama\n")
    with pytest.raises(InputError, match=r"Line 2 .*too long"):
        find_movies(DataFile(Path(write("ratings.csv", MOVIELENS_CSV))))
