"""Numbers as people write them."""

import tomllib

import pytest

from tutelage.validation import read_toml_number, read_whole


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("20", 20), ("-3", -3), ("+7", 7), (" 50_000 ", 50_000), ("2e4", 20_000), ("2E+4", 20_000), ("1.5e3", 1500),
        ("0e5", 0), ("-1e2", -100), ("9007199254740993e0", 9007199254740993), ("1.5e0", None), ("1.25e1", None),
        ("1e-1", None), ("2.0", None), ("", None), ("e4", None), ("1_e3", None), ("1e999999999", None),
        ("1e99999999999999999999", None), ("9" * 5000, None), ("nan", None), ("0x10", None),
    ],
)  # fmt: skip
def test_whole_numbers(text, number):
    """Grouped digits and exponents are read, exactly; other numbers are refused."""
    assert read_whole(text) == number


def test_whole_numbers_in_toml():
    """TOML calls 2e4 a float; where it is whole, it is a whole number, and every other float stays one."""
    read = tomllib.loads("a = 2e4\nb = 2.0\nc = 1.5e0\nd = nan", parse_float=read_toml_number)
    assert (read["a"], type(read["a"])) == (20_000, int)
    assert (read["b"], type(read["b"]), read["c"]) == (2.0, float, 1.5)
    assert read["d"] != read["d"]
