"""Numbers, counts, durations and names, formatted for people."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.text import (
    UNKNOWN,
    format_axis_number,
    format_bytes,
    format_count,
    format_duration,
    format_name,
    format_number,
    format_runs,
    name_arms,
    name_place,
    quote_for_shell,
    round_percents,
    shorten_name,
    shorten_names,
)


@pytest.mark.parametrize(("number", "text"), [(1, "1 run"), (0, "0 runs"), (2000, "2,000 runs")])
def test_one_and_many(number, text):
    """Only one is without an s."""
    assert format_count(number, "run") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (4096, "4.1 kB"), (999_600, "1 MB"), (1_500_000_000, "1.5 GB")],
)
def test_sizes_have_three_digits(number, text):
    """In the unit that leaves one to three of them before the point."""
    assert format_bytes(number) == text


@pytest.mark.parametrize(
    ("some", "runs", "text"), [(3, 20, "3 of 20 runs"), (20, 20, "all 20 runs"), (1, 1, "its only run")]
)
def test_some_of_all(some, runs, text):
    """All of them, or its only one, are said so."""
    assert format_runs(some, runs) == text


@pytest.mark.parametrize(("value", "text"), [(12345.6, "12,346"), (12.34, "12.3"), (0.01234, "0.0123")])
def test_three_digits_or_the_whole_part(value, text):
    """No more digits than a reader takes in."""
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.01, "0.01"), (5, "5"), (999, "999"), (1000, "1k"), (1500, "1.5k"), (50_000, "50k"), (2.5e6, "2.5M")],
)
def test_numbers_on_axes_are_short(value, text):
    """Thousands and millions have a letter."""
    assert format_axis_number(value) == text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.003, "3 ms"), (0.035, "35 ms"), (0.0999, "0.1 s"), (0.4, "0.4 s"), (46, "46 s"),
        (346, "5 min 46 s"), (3600, "1 h"),
        (11_520, "3 h 12 min"), (86_400 * 2 + 7200, "2 d 2 h"), (float("nan"), UNKNOWN),
        (float("inf"), UNKNOWN),
    ],
)  # fmt: skip
def test_durations(seconds, words):
    """Durations have their two largest units."""
    assert format_duration(seconds) == words


def test_percentages_of_a_whole_add_up():
    """Thirds are 34, 33 and 33 percent."""
    assert round_percents([1, 1, 1]) == [34, 33, 33]
    assert round_percents([0, 0]) == [0, 0]
    assert round_percents([0.2, 0.8]) == [20, 80]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40))
def test_percentages_are_rounded_by_less_than_one(counts):
    """Each differs from the exact percentage by less than 1."""
    rounded = round_percents(counts)
    assert sum(rounded) == (100 if any(counts) else 0)
    for count, format_percent in zip(counts, rounded, strict=True):
        assert abs(format_percent - 100 * count / max(sum(counts), 1)) < 1


@pytest.mark.parametrize(
    ("name", "formatted"),
    [
        ("Kassel", "Kassel"),
        ("München 東京", "München 東京"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2069\u202eb", "a\\u2069\\u202eb"),
        ("no\u00a0break\u200b", "no\\u00a0break\\u200b"),
        ("\U000e0041", "\\U000e0041"),
        ("a\x1b[31mred\n", "a\\u001b[31mred\\u000a"),
        ("\x9b31m\ud800", "\\u009b31m\\ud800"),
        ("תל אביב", "\u2068תל אביב\u2069"),
    ],
)
def test_invisible_characters_are_escaped(name, formatted):
    """Direction marks have no effect; a right-to-left name does not change the text around it."""
    assert format_name(name) == formatted


def test_a_long_name_is_shortened_in_the_middle():
    """Similar names differ at their ends.  An ideograph takes two columns."""
    assert shorten_name("a" * 22, 22) == "a" * 22
    assert shorten_name("arm-with-a-rather-long-name-21", 16) == "arm-wit…-name-21"
    assert shorten_name("store-004.region-north.example.org", 12) == "store…le.org"
    assert shorten_name("東" * 12, 22) == "東" * 5 + "…" + "東" * 5
    assert shorten_name("ש" * 30, 10) == "\u2068" + "ש" * 4 + "…" + "ש" * 5 + "\u2069"
    assert shorten_name("a" * 9 + "e\u0301" * 9, 6) == "aa…" + "e\u0301" * 3


@pytest.mark.parametrize("name", ["a" * 30, "東" * 30, "ש" * 30, "e\u0301" * 30, "東a" * 20])
def test_a_shortened_name_fits(name):
    """It keeps the beginning and the end of the name, in any script."""
    for most in range(3, 25):
        cut = shorten_name(name, most)
        columns = {"東": 2, "\u0301": 0, "\u2068": 0, "\u2069": 0}
        assert sum(columns.get(character, 1) for character in cut) <= most
        head, tail = cut.strip("\u2068\u2069").split("…")
        assert name.startswith(head)
        assert name.endswith(tail)


HOSTS = tuple(
    f"{region}.shop-{service}-{number:03}.prod.example.com"
    for region in ("eu-west-1", "us-east-1")
    for service in ("frontend", "checkout")
    for number in range(1, 13)
)


@pytest.mark.parametrize(
    ("names", "columns", "texts"),
    [
        (HOSTS[:12], 17, ["…op-frontend-001…", "…op-frontend-002…"]),
        (HOSTS, 17, ["eu-w…rontend-001…", "eu-w…rontend-002…"]),
        ((*HOSTS[:2], "short"), 12, ["eu-…end-001…", "eu-…end-002…", "short"]),
        (("arm-with-a-rather-long-name-21", "short"), 16, ["arm-wit…-name-21", "short"]),
        (("ש" * 15 + "אב" + "ש" * 15, "ש" * 15 + "ג" + "ש" * 16), 8, None),
    ],
)
def test_names_are_shortened_where_they_differ(names, columns, texts):
    """Names that are alike at both ends show the piece in which they differ; others lose their middles."""
    found = shorten_names(names, columns)
    assert texts is None or [found[name] for name in names[: len(texts)]] == texts
    assert len(set(found.values())) == len(names)
    assert all(len(text.strip("\u2068\u2069")) <= columns for text in found.values())


_PARTS = st.sampled_from(["eu-west-1.", "us-east-1.", "shop", "frontend", "x" * 9, "-", "001", "002", ".example.com"])


@given(st.sets(st.lists(_PARTS, max_size=9).map("".join), min_size=2, max_size=40), st.integers(8, 20))
def test_different_names_have_different_texts(names, columns):
    """Whatever the names have in common, each text fits and tells its name from all others."""
    found = shorten_names(tuple(sorted(names)), columns)
    assert len(set(found.values())) == len(names)
    assert max(map(len, found.values())) <= columns


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("name", ["it's", "a\u202e\\'b", "--x", "$(id)", "\U000e0041é`id`"])
def test_a_shell_reads_the_name(name):
    """It is one unchanged word."""
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quote_for_shell(name)}"],  # noqa: S607
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == name
    assert quote_for_shell(name).isprintable()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("decided on arm 0 in directive 2", "decided on arm red in directive 2"),
        ("clients are led to arm 1, unproved", "clients are led to Arm B, unproved"),
        ("decided on arm 2", "decided on arm a\\u202eb"),
        ("decided on arm 3", "decided on arm 0"),
        ("arm 1 beats arm 0", "Arm B beats arm red"),
        ("learning, directive 0, 3 arms active", "learning, directive 0, 3 arms active"),
        ("decided on arm 7", "decided on arm 7"),
        ("the farm 0 and arm 0x", "the farm 0 and arm 0x"),
    ],
)
def test_arm_numbers_are_replaced_by_names(sentence, expected):
    """Each once, for any name; a number that is not an arm's stays."""
    assert name_arms(sentence, ["red", "Arm B", "a\u202eb", "0"]) == expected


def test_commands_name_the_place_that_they_act_on():
    """Before two dashes, once, quoted, for the groups asked for only; the default place needs no option."""
    command = "tutelage campaign exclude -- shop --all"
    named = name_place(command, "campaign", "--server", "http://h:1")
    assert named == "tutelage campaign exclude --server http://h:1 -- shop --all"
    assert name_place(named, "campaign", "--server", "http://h:2") == named.replace("h:1", "h:2")
    assert name_place(named, "campaign", "--server", "") == command
    sentence = "Stop tutelage key list or `tutelage key list`, `tutelage db check`, `tutelage plan`."
    named = name_place(sentence, "key|db", "--store", "sqlite:///a b.db")
    place = "--store 'sqlite:///a b.db'"
    assert (
        named == f"Stop tutelage key list or `tutelage key list {place}`, `tutelage db check {place}`, `tutelage plan`."
    )
