"""Counts and numbers as people read them."""

import pytest

from tutelage.text import counted, short, some_of


@pytest.mark.parametrize(("number", "told"), [(1, "1 run"), (0, "0 runs"), (2000, "2,000 runs")])
def test_one_and_many(number, told):
    """Only one is without an s."""
    assert counted(number, "run") == told


@pytest.mark.parametrize(
    ("some", "runs", "told"), [(3, 20, "3 of 20 runs"), (20, 20, "all 20 runs"), (1, 1, "its only run")]
)
def test_some_of_all(some, runs, told):
    """All of them, or its only one, are said so."""
    assert some_of(some, runs) == told


@pytest.mark.parametrize(("value", "told"), [(12345.6, "12,346"), (12.34, "12.3"), (0.01234, "0.0123")])
def test_three_digits_or_the_whole_part(value, told):
    """No more digits than a reader takes in."""
    assert short(value) == told
