"""Weights, as every source takes them."""

import numpy as np
import pytest

from tutelage.instances import load

SPEC = "uniform:clients=3,arms=2,weights={}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.txt", "0.2\n0.3\n0.5\n"),
        ("w.txt", "\ufeff0.2\r\n0.3\r\n\r\n0.5"),
        ("w.csv", "0.2,0.3,0.5\n"),
        ("w.csv", "weight\n0.2\n0.3\n0.5\n"),
        ("w.txt", "# of the shops\n0,2\n0,3\n0,5\n"),
        ("w.csv", "0,2;0,3;0,5;\n"),
        ("w.csv", "20%\n30 %\n50,0 %\n"),
        ("w.json", "[0.2, 0.3, 0.5]"),
        ("w.json", '{"weights": [0.2, 0.3, 0.5]}'),
    ],
)
def test_weights_from_a_file(write, name, content):
    """A file of weights may be one number a line, a line with commas, or JSON."""
    assert load(SPEC.format(write(name, content))).weights.tolist() == [0.2, 0.3, 0.5]


def test_weights_in_the_spec():
    """a;b;c are weights, and a single weight is 1."""
    assert load(SPEC.format(".2;.3;.5")).weights.tolist() == [0.2, 0.3, 0.5]
    assert load(SPEC.format('"0,2;30 %;0,5"')).weights.tolist() == [0.2, 0.3, 0.5]
    assert load("uniform:clients=1,weights=1").weights.tolist() == [1.0]
    assert np.allclose(load("uniform:clients=3").weights, 1 / 3)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (".2;.3;.4", ("sum to 0.9",)),
        (".2;.3", ("2 weights for 3 clients",)),
        (".5;.5;0", ("use a finite number above 0",)),
        ("a;b;c", ("'a'", "not a number")),
        (".5;;.5", ("missing",)),
        (".5;nan;.5", ("'nan'",)),
        (".5;inf;.5", ("'inf'",)),
        ("1e308;1e308;1e308", ("1e+308", "too large")),
        ("0,2;0,3;0,5", ("decimal comma? write a point",)),
        ("nowhere.txt", ("no file or folder 'nowhere.txt'",)),
        ("~nouser/w.txt", ("no home folder", "~nouser/w.txt")),
    ],
)
def test_bad_weights(refuses, weights, words):
    """Weights that do not fit, do not sum to 1 or are not numbers are refused."""
    refuses(SPEC.format(weights), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("empty",)),
        ("0,2,3\n0,3\n0,5\n", ("'0,2,3'", "not a number")),
        ("[0.2, 0.3", ("not JSON",)),
        ('{"weights": [1], "weights": [1]}', ("appears twice",)),
        ('{"w": [1]}', ("no list of numbers",)),
        ('[0.2, "0.3", true]', ("use a number",)),
        ("[" + "9" * 400 + "]", ("whole number of 1329 bits", "too large")),
        ("[" + "9" * 5000 + "]", ("too many digits",)),
        (b"\x00\x01\x02", ("not a text file",)),
        (b"0.2\n\xff\n", ("not UTF-8",)),
    ],
)
def test_bad_weight_files(refuses, write, content, words):
    """A file of weights that is empty, binary or malformed is refused."""
    refuses(SPEC.format(write("weights.dat", content)), *words)
