"""Names, formatted for people and for a shell."""

import shutil
import subprocess

import pytest

from tutelage.service.display import format_name, insert_arm_names, quote_for_shell, shorten_name


@pytest.mark.parametrize(
    ("name", "formatted"),
    [
        ("Kassel", "Kassel"),
        ("München 東京", "München 東京"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2069\u202eb", "a\\u2069\\u202eb"),
        ("no\u00a0break\u200b", "no\\u00a0break\\u200b"),
        ("\U000e0041", "\\U000e0041"),
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
        ("decided for arm 0 in directive 2", "decided for arm red in directive 2"),
        ("clients are led to arm 1, unproved", "clients are led to Arm B, unproved"),
        ("decided for arm 2", "decided for arm a\\u202eb"),
        ("decided for arm 3", "decided for arm 0"),
        ("arm 1 beats arm 0", "Arm B beats arm red"),
        ("learning, directive 0, 3 arms active", "learning, directive 0, 3 arms active"),
        ("decided for arm 7", "decided for arm 7"),
        ("the farm 0 and arm 0x", "the farm 0 and arm 0x"),
    ],
)
def test_arm_numbers_are_replaced_by_names(sentence, expected):
    """Each once, for any name; a number that is not an arm's stays."""
    assert insert_arm_names(sentence, ["red", "Arm B", "a\u202eb", "0"]) == expected
