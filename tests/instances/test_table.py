"""Tables of local means."""

import gzip

import pytest

from tutelage.instances import load

MEANS = [[0.2, 0.9], [0.4, 0.1]]


@pytest.mark.parametrize(
    ("name", "content", "clients", "arms", "weights"),
    [
        ("t.csv", "0.2,0.9\n0.4,0.1\n", None, None, None),
        ("t.csv", "\ufeff0.2;0.9\r\n\r\n0.4;0.1\r\n", None, None, None),
        ("t.csv", "red,blue\n0.2,0.9\n0.4,0.1\n", None, ("red", "blue"), None),
        ("t.csv", "ann,0.2,0.9\nbob,0.4,0.1\n", ("ann", "bob"), None, None),
        ("t.csv", ',red,"blue, dark"\nann,0.2,0.9\nbob,0.4,0.1\n', ("ann", "bob"), ("red", "blue, dark"), None),
        ("t.csv", "client,11,12\n1,0.2,0.9\n2,0.4,0.1\n", ("1", "2"), ("11", "12"), None),
        ("t.csv", "client,weight,a,b\nx,.3,.2,.9\ny,.7,.4,.1\n", ("x", "y"), ("a", "b"), [0.3, 0.7]),
        ("t.csv", "a\tb\tweight\n.2\t.9\t.3\n.4\t.1\t.7\n", None, ("a", "b"), [0.3, 0.7]),
        ("t.json", "[[0.2, 0.9], [0.4, 0.1]]", None, None, None),
        ("t.json", '{"means": [[0.2, 0.9], [0.4, 0.1]], "arms": ["a", "b"]}', None, ("a", "b"), None),
        (
            "t.json",
            '{"means": {"x": {"a": 0.2, "b": 0.9}, "y": {"b": 0.1, "a": 0.4}},"weights": {"y":0.7,"x":0.3}}',
            ("x", "y"),
            ("a", "b"),
            [0.3, 0.7],
        ),
        ("t.json", '{"local_means": {"x": [0.2, 0.9], "y": [0.4, 0.1]}}', ("x", "y"), None, None),
        (
            "t.toml",
            'clients = ["x", "y"]\nweights = [0.3, 0.7]\nmeans = [[0.2, 0.9], [0.4, 0.1]]\n',
            ("x", "y"),
            None,
            [0.3, 0.7],
        ),
        ("t.toml", "[means]\nx = [0.2, 0.9]\ny = [0.4, 0.1]\n", ("x", "y"), None, None),
    ],
)
def test_layouts(write, name, content, clients, arms, weights):
    """CSV, JSON and TOML; with and without names of clients and arms, with and without weights."""
    instance = load(write(name, content))
    assert instance.local_means.tolist() == MEANS
    assert instance.client_names == clients
    assert instance.arm_names == arms
    assert instance.weights.tolist() == (weights or [0.5, 0.5])


@pytest.mark.parametrize(
    ("content", "clients", "arms"),
    [
        ("client_id,shoes,hats\n0,0.2,0.9\n1,0.4,0.1\n", ("0", "1"), ("shoes", "hats")),
        ("User ID;shoes;hats\n7;0,2;0,9\n8;0,4;0,1\n", ("7", "8"), ("shoes", "hats")),
        (",0,1\n0,0.2,0.9\n1,0.4,0.1\n", ("0", "1"), ("0", "1")),
        ("shop;2021;2022\nA;0,2;0,9\nB;0,4;0,1\n", ("A", "B"), ("2021", "2022")),
        ("2021,2022\n0.2,0.9\n0.4,0.1\n", None, ("2021", "2022")),
        ("1;2\n0,2;0,9\n0,4;0,1\n", None, ("1", "2")),
        ("# shoes,hats\n2.0e-01,9.0e-01\n4.0e-01,1.0e-01\n", None, ("shoes", "hats")),
        ("# shoes hats\n2.0e-01 9.0e-01\n4.0e-01 1.0e-01\n# the end\n", None, ("shoes", "hats")),
        ("# means of May\n0.2,0.9\n# a break, with, commas\n0.4,0.1\n", None, None),
        ("# 0.5,0.5\n0.2,0.9\n0.4,0.1\n", None, None),
        ("#1,0.2,0.9\n#2,0.4,0.1\n", ("#1", "#2"), None),
        ("sep=;\r\nshop;shoes;hats;\r\nA;0,2;0,9;\r\nB;0,4;0,1;\r\n", ("A", "B"), ("shoes", "hats")),
        ("sep=,\nshoes,hats\n0.2,0.9\n0.4,0.1\n", None, ("shoes", "hats")),
        ("shoes\thats\n20 %\t90%\n40,0 %\t10%\n", None, ("shoes", "hats")),
        ("shoes,hats,\n0.2,0.9\n0.4,0.1,,\n", None, ("shoes", "hats")),
        ("магазин;shoes;hats\nA;0,2;0,9\nB;0,4;0,1\n", ("A", "B"), ("shoes", "hats")),
    ],
)
def test_what_spreadsheets_and_libraries_write(write, content, clients, arms):
    """Ids, years, comments, Excel's separators, decimal commas and percentages are read as what they are."""
    instance = load(write("t.csv", content))
    assert instance.local_means.tolist() == MEANS
    assert instance.client_names == clients
    assert instance.arm_names == arms


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("shop;A;B\n0;0,2;0,9\n1;0,4;0,1\n", ("column 'shop'", "names or means", "write 'client' above it")),
        ("shop,A,B\n0,1,0\n1,0,1\n", ("column 'shop'", "names or means")),
        ("0,0.2,0.9\n1,0.4,0.1\n", ("first column", "names or means (0, 1)")),
        ("0,1\n0.2,0.9\n0.4,0.1\n", ("Row 1", "names or means (0, 1)")),
        ("shop;0;1\nA;0,2;0,9\nB;0,4;0,1\n", ("Row 1", "names or means (0, 1)")),
        ("# nothing\n", ("comments but no means",)),
    ],
)
def test_numbers_that_may_be_names_are_refused(write, refuses, content, words):
    """Whole numbers that may be names or means are refused, with what to write for either."""
    refuses(write("t.csv", content), *words)


@pytest.mark.parametrize("content", ["0,1\n1,0\n", "0.0,0.2\n1.0,0.4\n", "1,0.2\n", "a,b\n1.0,0.2\n0.0,0.4\n"])
def test_means_of_0_and_1_are_read(write, content):
    """Means of 0 and 1 are means where nothing in the table looks like a name."""
    lines = [line for line in content.split() if "a" not in line]
    assert load(write("t.csv", content)).local_means.tolist() == [[float(c) for c in line.split(",")] for line in lines]


def test_the_note_says_what_was_read(write):
    """The notes of the instance, which every command prints, name clients and arms."""
    notes = dict(load(write("t.csv", "discount;0.1;0.2\nA;0.5;0.6\n")).notes)
    assert notes["read as"] == "2 clients (discount, A), 2 arms without names"
    content = "client," + ",".join(f"arm{k}" for k in range(14)) + "\nx" + ",0.5" * 14 + "\n"
    named = ", ".join(f"arm{k}" for k in range(12))
    assert dict(load(write("t.csv", content)).notes)["read as"] == f"1 client (x), 14 arms ({named}, ...)"


def test_single_column(write):
    """One arm, with and without its name."""
    assert load(write("a.csv", "only\n0.2\n0.4\n")).arm_names == ("only",)
    assert load(write("b.csv", "0.2\n0.4\n")).num_clients == 2


def test_gzipped(write):
    """A gzipped table is read."""
    assert load("table:" + write("t.csv.gz", gzip.compress(b"0.2,0.9\n0.4,0.1\n"))).local_means.tolist() == MEANS


def test_explicit_weights_win(write):
    """weights= wins over the table's own."""
    path = write("t.csv", "a,b,weight\n.2,.9,.3\n.4,.1,.7\n")
    assert load(f"{path},weights=.5;.5").weights.tolist() == [0.5, 0.5]


def test_tied_table_says_so(write):
    """Two best arms exactly tied are allowed and said in the notes."""
    assert "tie" in dict(load(write("t.csv", "0.2,0.9\n0.9,0.2\n")).notes)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", "", ("empty",)),
        ("t.csv", "\n \n", ("empty",)),
        ("t.csv", "a,b\n", ("no means",)),
        ("t.csv", "0.2,0.9\n0.4\n", ("Row 2", "1 cells")),
        ("t.csv", "a,b\n0,2,0,9\n", ("Row 2", "decimal comma")),
        ("t.csv", "0,2,0,9\n0,4,0,1\n", ("2", "decimal point, not a comma")),
        ("t.csv", "0,2;0.9\n0,4;0.1\n", ("mixes decimal points and decimal commas",)),
        ("t.csv", "0,2;0,9\n0,4;0,1,0\n", ("'0,1,0'", "row 2, column 2")),
        ("t.csv", "0.2,1.9\n0.4,0.1\n", ("1.9", "row 1, column 2", "outside [0, 1]")),
        ("t.csv", "0.2,-0.9\n", ("-0.9",)),
        ("t.csv", "0.2,nan\n0.4,0.1\n", ("'nan'", "row 1, column 2")),
        ("t.csv", "0.2,inf\n0.4,0.1\n", ("'inf'",)),
        ("t.csv", "0.2,0.9\n0.4,\n", ("missing", "row 2, column 2")),
        ("t.csv", "0.2,0.9\n0.4,much\n", ("'much'", "row 2, column 2")),
        ("t.csv", "0.2,0.9x,0.3\n0.4,0.1,0.2\n", ("Row 1", "mixes")),
        ("t.csv", "0.2,0.9\n0.4x,0.1\n", ("mixes", "0.4x")),
        ("t.csv", '"0.2,0.9\n0.4,0.1\n', ("Row 1", "quote is not closed")),
        ("t.csv", "a,a\n0.2,0.9\n", ("'a' appears twice among the arms",)),
        ("t.csv", "a,weight,weight\n0.2,0.9,0.1\n", ("two columns of weights",)),
        ("t.csv", "a,weight\n0.2,0.9\n0.3,0.2\n", ("sum to 1.1",)),
        ("t.csv", b"\x89PNG\x00\x01", ("not a text file",)),
        ("t.csv", b"0.2,0.9\n0.\xe9,1\n", ("not UTF-8",)),
        ("t.csv", b"\x1f\x8bjunk", ("cannot be read",)),
        ("t.json", "[[0.2, 0.9], [0.4]]", ("client 1", "equally long")),
        ("t.json", "[[0.2, 0.9], [0.4, 1.1]]", ("1.1",)),
        ("t.json", "[[0.2, NaN]]", ("NaN",)),
        ("t.json", "[[0.2, true]]", ("true", "use a number")),
        ("t.json", '[["0,2", 0.9]]', ("use a number",)),
        ("t.json", "[[0.2, 0.9]", ("not JSON", "line 1")),
        ("t.json", "[]", ("no means",)),
        ("t.json", "[[]]", ("no means",)),
        ("t.json", "3", ("no table",)),
        ("t.json", '{"weights": [1]}', ("no 'means'",)),
        ("t.json", '{"means": [[0.2]], "means": [[0.3]]}', ("'means'", "appears twice")),
        ("t.json", '{"means": {"x": [0.2], "x": [0.3]}}', ("'x'", "appears twice")),
        ("t.json", '{"meens": [[0.2]]}', ("'meens'", "Unknown key")),
        ("t.toml", 'name = "gaps"\nteachers = ["blt"]\n[[instances]]\nlabel = "a"\n', ("experiment", "tutelage run")),
        ("t.json", '{"means": [[0.2]], "local_means": [[0.2]]}', ("twice",)),
        ("t.json", '{"means": [[0.2]], "clients": ["a", "b"]}', ("2 names for 1 clients",)),
        ("t.json", '{"means": {"x": [0.2]}, "clients": ["x"]}', ("names the clients twice",)),
        ("t.json", '{"means": [{"a": 0.2}, {"b": 0.2}]}', ("other arms",)),
        ("t.json", '{"means": [[0.2]], "weights": [0.5]}', ("sum to 0.5",)),
        ("t.json", '{"means": [[0.2]], "weights": {"x": 1}}', ("not those of its clients",)),
        ("t.json", "[" * 100_000, ("nested",)),
        ("t.toml", "means = [[0.2, 0.9]]\nmeans = [[0.2, 0.9]]\n", ("not TOML",)),
        ("t.toml", "means = [[0.2, nan]]\n", ("nan",)),
    ],
)
def test_bad_tables(refuses, write, name, content, words):
    """A table that cannot be read, or contains an invalid mean, is refused with its place."""
    refuses(write(name, content), *words)


def test_folder_is_no_table(refuses, tmp_path):
    """A folder is not a table."""
    refuses(f"table:{tmp_path}", "is a folder")


def test_nothing_observed(refuses, write):
    """A table of means has nothing to resample."""
    refuses(write("t.csv", "0.2,0.9\n") + ",rewards=empirical", "'table' has none")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", ",,\n,,\n", ("has separators but no means",)),
        ("t.json", "[[" + "9" * 400 + "]]", ("whole number of 1329 bits", "too large")),
        ("t.json", "[[" + "9" * 5000 + "]]", ("too many digits",)),
        ("t.json", '{"means": [[0.5]], "arms": [' + "9" * 5000 + "]}", ("too many digits",)),
        ("t.toml", "means = [[" + "9" * 400 + "]]", ("whole number of 1329 bits", "too large")),
        ("t.toml", "means = [[" + "9" * 5000 + "]]", ("too many digits",)),
        ("t.toml", "means = [[0.5]]\narms = [0x" + "f" * 5000 + "]", ("'arms'", "too many digits")),
        ("t.json", '{"means": [[0.5]], "arms": ["\\ud800"]}', (r"'\ud800' among the arms", "remove it")),
        ("t.json", '{"means": {"a\\ud800": [0.5]}}', (r"'a\ud800' among the clients", "remove it")),
        ("t.json", '{"means": [[0.5]], "arms": ["a\\u0000"]}', (r"'a\x00' among the arms",)),
    ],
    ids=range(10),
)
def test_odd_content(refuses, write, name, content, words):
    """Lines of separators, numbers beyond every bound, and names that cannot be written are refused."""
    refuses(write(name, content), *words)


@pytest.mark.parametrize("spec", ["table:{}", "{}", "movielens:{}", "radio:{}", "paper:weights={}"])
def test_no_such_home(refuses, spec):
    """A path that begins with the home folder of nobody is refused by every source."""
    refuses(spec.format("~nouser/x.csv"), "no home folder", "~nouser/x.csv")


def test_home_folder(write, monkeypatch, tmp_path):
    """A path that begins with the home folder is found, also where only the file shows that it is a path."""
    write("means", "0.2,0.9\n0.4,0.1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load("~/means").local_means.tolist() == MEANS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.9,\n0.1,0.5\n", "missing in row 1, column 2"),
        ("0.9,x\n0.1,0.5\n", "mixes numbers and words"),
        ("a,,c\n0.1,0.5,0.2\n", "name is missing in row 1"),
    ],
)
def test_a_slip_in_the_first_row_makes_no_header(write, refuses, text, words):
    """A number that is missing or mistyped in the first row is an error, not a line of names."""
    refuses(write("m.csv", text), words)
