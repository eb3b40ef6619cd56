"""Counts and numbers as people read them."""

import pytest

from tutelage.text import counted, format_axis_number, short, some_of


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01, "0.01"),
        (5, "5"),
        (999, "999"),
        (1000, "1k"),
        (1500, "1.5k"),
        (50_000, "50k"),
        (2.5e6, "2.5M"),
    ],
)
def test_numbers_on_axes_are_short(value, text):
    """Thousands and millions have a letter."""
    assert format_axis_number(value) == text
