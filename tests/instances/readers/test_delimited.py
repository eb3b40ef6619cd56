"""Lines that people and spreadsheets write: quotes, files that were cut, comments, separators, pipes."""

import gzip
import os

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.readers.k7 import read_k7
from tutelage.instances.readers.ratings import read_ratings

# Six users rate items 10 and 11; the means of the two groups that movielens makes differ by 1/12.
RATINGS = [(1, 10, 5), (2, 10, 1), (3, 10, 3), (4, 10, 1), (5, 10, 5), (6, 10, 1)]
RATINGS += [(1, 11, 2), (2, 11, 4), (3, 11, 5), (4, 11, 1), (5, 11, 2), (6, 11, 4)]
TITLES = ["plain", '6" pizza', "plain", "plain", '12" record', '"quoted, title"', '"a ""b"" c"', 'x" y', '"six" inch']
K7 = (
    '{"location": "here", "channels": [11, 12]}\n'
    "datetime,src,dst,channel,mean_rssi,pdr,tx_count\n"
    "2018-01-11 16:32:22,1,2,11,-60,0.9,100\n"
    "2018-01-11 16:32:22,1,3,11,-70,0.5,100\n"
    "2018-01-11 16:32:24,3,1,11,-60,0.3,100\n"
    "2018-01-11 16:33:22,1,2,12,-60,0.2,100\n"
    "2018-01-11 16:33:22,1,3,12,-70,0.6,100\n"
    "2018-01-11 16:33:24,3,1,12,-60,0.45,100\n"
)


def rows(separator, place):
    """The ratings with a column of titles at this place, which is not used."""
    lines = []
    for (user, item, rating), title in zip(
        [("user", "item", "rating"), *RATINGS], ["title", *TITLES, *TITLES], strict=False
    ):
        cells = [str(user), str(item), str(rating)]
        lines.append(separator.join([*cells[:place], title, *cells[place:]]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("separator", [",", "\t", ";", "::"])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize("part", [1 << 25, 50])
def test_quotes_lose_no_rating(write, monkeypatch, separator, place, part):
    """Quotes in a column that is not used change no rating, wherever the column and the parts of the file are."""
    monkeypatch.setattr("tutelage.instances.readers.delimited._PART", part)
    content = rows(separator, place)
    if separator == "::":  # which has no quotes, so that a separator in them counts
        content = content.replace(", title", " title")
    ratings = read_ratings(write("r.csv", content))
    read = zip(ratings.users, ratings.items, ratings.values, strict=True)
    assert [(int(ratings.user_ids[u]), int(ratings.item_ids[i]), value) for u, i, value in read] == RATINGS


def test_quotes_leave_the_gap(write):
    """The instance is that of the file without the quotes."""
    with_quotes, without = (
        write(name, content)
        for name, content in (
            ("q.csv", rows(",", 3)),
            ("n.csv", "user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in RATINGS)),
        )
    )
    gaps = [load(f"movielens:{path},clients=2,arms=2").min_gap for path in (with_quotes, without)]
    assert gaps[0] == gaps[1] == pytest.approx(1 / 12)


@pytest.mark.parametrize("title", ['"pizza', '"a\nb"', '"a\n7,12,3,x"'])
def test_an_open_quote_is_refused(write, title):
    """A field in quotes that goes on in the next line may hide rows."""
    with pytest.raises(InputError, match=r"Line 3 of .*a quote is not closed"):
        read_ratings(write("r.csv", f"user,item,rating,title\n1,10,5,plain\n2,10,1,{title}\n3,10,3,plain\n"))


def test_quotes_in_other_readers(write):
    """Radio traces, movies and tables of means read quotes in the same way."""
    noted = K7.replace("tx_count\n", "tx_count,note\n").replace(",100\n", ',100,6" mast\n')
    assert read_k7(write("a.k7", noted)).observed.counts.sum() == read_k7(write("b.k7", K7)).observed.counts.sum() == 6
    write("m/movies.csv", 'movieId,title,genres\n10,6" pizza,Drama\n11,"Six, ""seven""",Comedy\n')
    ratings = write("m/ratings.csv", "userId,movieId,rating,timestamp\n1,10,4,1\n1,11,5,1\n2,10,1,1\n2,11,2,1\n")
    assert set(load(f"movielens:{ratings},clients=1,arms=2,group=top").arm_names) == {'6" pizza', 'Six, "seven"'}
    assert load(write("t.csv", 'client,6" pizza,"a ""b"""\nx,0.1,0.2\n')).arm_names == ('6" pizza', 'a "b"')
    write("m/movies.csv", 'movieId,title,genres\n10,"pizza,Drama\n11,Seven",Comedy\n')
    with pytest.raises(InputError, match=r"Line 2 .*not closed"):
        load(f"movielens:{ratings},clients=1,arms=2,group=top")
    with pytest.raises(InputError, match=r"Row 2 .*not closed"):
        load(write("t.csv", 'client,a\n"x,0.1\ny",0.2\n'))


FULL = "userId,movieId,rating,timestamp\n1,31,2.5,126\n1,32,3.0,127\n2,31,4.5,128\n2,32,4.5,129\n"


def test_every_cut_is_refused_or_whole(write):
    """A file cut anywhere in its last line is refused with the line, unless all that is used is there."""
    whole = read_ratings(write("w.csv", FULL)).values.tolist()
    start = FULL.rstrip("\n").rfind("\n") + 1
    for end in range(start + 1, len(FULL)):
        path = write("c.csv", FULL[:end])
        if end > FULL.rfind(","):
            assert read_ratings(path).values.tolist() == whole
        else:
            with pytest.raises(InputError, match=r"Line 5 |in line 5"):
                read_ratings(path)
    last = "user,item,rating\n1,31,2.5\n1,32,3.0\n2,31,4.5\n2,32,4.5\n"  # the rating ends the line
    assert read_ratings(write("w.csv", last[:-1])).values.tolist() == whole
    for end in (-3, -2):
        with pytest.raises(InputError, match=r"in line 5, .*fewer decimals"):
            read_ratings(write("c.csv", last[:end]))


def test_every_cut_of_a_radio_trace_is_refused(write):
    """So is a radio trace."""
    start = K7.rstrip("\n").rfind("\n") + 1
    for end in range(start + 1, K7.rfind(",") + 1):
        with pytest.raises(InputError, match=r"Line 8 |in line 8"):
            read_k7(write("c.k7", K7[:end]))
    assert read_k7(write("c.k7", K7[:-1])).observed.means.tolist() == read_k7(write("w.k7", K7)).observed.means.tolist()


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ("0.2,0.9\n0.4,0.15", False),
        ("0.25,0.9\n0.4,0.1", False),
        ("0.2,0.9\n0.4,1", False),
        ("0.2,0.9\n0.4,0.", True),
        ("0.2,0.9\n0.4,0", True),
        ("0.250,0.900\n0.400,0.100\n0.300,0.1", True),
        ("0,2;0,9\n0,4;0,", True),
        ("1,0\n1,0", False),
    ],
)
def test_a_cut_table_is_refused(write, refuses, content, refused):
    """A table that ends in a number with fewer decimals than all others, without a line end, is refused."""
    path = write("t.csv", content)
    if refused:
        refuses(path, f"in row {content.count(chr(10)) + 1}", "no line end")
    else:
        load(path)
    load(write("t.csv", content.removesuffix(".").removesuffix(",") + "\n"))


def test_cut_movies_are_refused(write):
    """A genre that is the beginning of another one at the end of movies.csv was cut."""
    movies = "movieId,title,genres\n10,Up,Drama\n11,Down,Comedy|Dra"
    write("m/movies.csv", movies)
    ratings = write("m/ratings.csv", "userId,movieId,rating,timestamp\n1,10,4,1\n1,11,5,1\n2,10,1,1\n2,11,2,1\n")
    with pytest.raises(InputError, match=r"in line 3, .*'Dra'"):
        load(f"movielens:{ratings},clients=1,arms=2,group=genre")
    write("m/movies.csv", movies + "ma")
    assert load(f"movielens:{ratings},clients=1,arms=2,group=genre").arm_names == ("Drama", "Comedy")


@pytest.mark.parametrize(
    "content",
    [
        "sep=;\nuser;item;rating\n1;2;3,5\n1;3;4,5\n",
        '"sep=;"\r\nuser;item;rating;\r\n1;2;3,5;\r\n1;3;4,5;\r\n',
        "user;item;rating\n1;2;3,5;\n1;3;4,5;;\n",
        "user;item;rating;;\n1;2;3.5\n1;3;4.5",
        "# exported\n# user,item,rating\n1,2,3.5\n1,3,4.5\n",
        "# a comment, with commas\n1,2,3.5\n1,3,4.5\n",
        "user\titem\trating\n1\t2\t35 %\n1\t3\t45%\n",
    ],
)
def test_spreadsheets_and_comments(write, content):
    """Excel's first line, separators at the ends of lines, comments, decimal commas and percentages are read."""
    ratings = read_ratings(write("r.csv", content))
    assert ratings.values.tolist() == ([0.35, 0.45] if "%" in content else [3.5, 4.5])
    assert (ratings.user_ids, ratings.item_ids) == (["1"], ["2", "3"])


def test_fields_beyond_the_header_are_refused(write):
    """A line with more fields than the first is refused with its number, also behind quotes."""
    with pytest.raises(InputError, match=r"Line 3 of .* has 5 fields, the first line 4 .a decimal comma"):
        read_ratings(write("r.csv", "user,item,rating,time\n1,2,3,9\n1,3,4,5,9\n"))
    with pytest.raises(InputError, match=r"Line 3 of .* has 5 fields, the first line 4"):
        read_ratings(write("r.csv", 'user,item,rating,title\n1,2,3,"a,b"\n1,3,4,"a" b,c\n'))


@pytest.mark.parametrize("ids", ["{}.0", "{}"])
def test_whole_float_ids_are_whole_numbers(write, ids):
    """1.0 is 1, in ratings and movies, in either file, and in one file with both."""
    pairs = [(1, 10, 4), (1, 11, 5), (2, 10, 1), (2, 11, 2), (3, 10, 5), (3, 11, 1), (4, 10, 2), (4, 11, 4)]
    lines = "".join(f"{ids.format(u)},{ids.format(i)},{r},1\n" for u, i, r in pairs)
    ratings = write("m/ratings.csv", "userId,movieId,rating,timestamp\n" + lines)
    plain = write("p/ratings.csv", ("userId,movieId,rating,timestamp\n" + lines).replace(".0,", ","))
    for movie in ("10", "10.0"):
        write("m/movies.csv", f"movieId,title,genres\n{movie},Up,Drama\n11,Down,Comedy\n")
        assert set(load(f"movielens:{ratings},clients=2,arms=2,group=top").arm_names) == {"Up", "Down"}
        assert set(load(f"movielens:{ratings},clients=2,arms=2,group=genre").arm_names) == {"Drama", "Comedy"}
    means = [load(f"movielens:{path},clients=2,arms=2,seed=3").local_means.tolist() for path in (ratings, plain)]
    assert means[0] == means[1]
    mixed = read_ratings(write("x.csv", "1,10,4\n1.0,11.0,5\n2,10.0,3\n"))
    assert (mixed.user_ids, mixed.item_ids) == (["1", "2"], ["10", "11"])
    with pytest.raises(InputError, match="User 1 rates item 10 twice"):
        read_ratings(write("x.csv", "1,10,4\n1.0,10.0,5\n2,10.0,3\n"))


def test_whole_ids_with_an_exponent(tmp_path, write):
    """numpy.savetxt and R write whole numbers so; 1e5 is a text, since it may be hexadecimal."""
    path = tmp_path / "n.csv"
    np.savetxt(path, [[0, 10, 4], [100_000, 10, 3], [100_000, 11, 2]], delimiter=",", header="user,item,rating")
    read = read_ratings(str(path))
    assert (read.user_ids, read.item_ids) == (["0", "100000"], ["10", "11"])
    mixed = read_ratings(write("x.csv", "99999,10,4\n1e+05,10,5\n1.5e+00,10,3\n1e5,10,3\n"))
    assert mixed.user_ids == ["1.5e+00", "100000", "1e5", "99999"]
    with pytest.raises(InputError, match="User 100000 rates item 10 twice"):
        read_ratings(write("x.csv", "100000,10,4\n1E+05,10,5\n"))


def test_whole_float_ids_of_a_radio_trace(write):
    """So are nodes and channels, none of whose lines is skipped."""
    floats = K7.replace(",1,", ",1.0,").replace(",3,", ",3.0,").replace(",11,", ",11.0,").replace(",12,", ",12.0,")
    plain, other = read_k7(write("a.k7", K7)), read_k7(write("b.k7", floats))
    assert (other.links, other.channels, other.skipped) == (plain.links, plain.channels, 0)
    assert other.observed.means.tolist() == plain.observed.means.tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("spec", ["movielens:{}", "radio:{}", "{}", "table:{}", "paper:weights={}"])
def test_a_pipe_is_refused(refuses, tmp_path, spec):
    """A pipe can be read only once, so it is refused before anything of it is lost."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refuses(spec.format(pipe), "not an ordinary file", str(pipe))


def test_gzipped_quotes(write):
    """A gzipped file is read alike."""
    assert read_ratings(write("r.csv.gz", gzip.compress(rows(",", 3).encode()))).values.size == len(RATINGS)
