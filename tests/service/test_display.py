"""Names as people are shown them."""

import shutil
import subprocess

import pytest

from tutelage.service.display import quoted, short, shown, with_names


@pytest.mark.parametrize(
    ("name", "told"),
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
def test_what_cannot_be_seen_is_written_out(name, told):
    """Direction marks do nothing; a name that runs from right to left keeps that to itself."""
    assert shown(name) == told


def test_a_long_name_is_cut_by_what_it_takes_up():
    """In the middle: names of one family differ at an end.  An ideograph takes two columns."""
    assert short("a" * 22, 22) == "a" * 22
    assert short("arm-with-a-rather-long-name-21", 16) == "arm-wit…-name-21"
    assert short("store-004.region-north.example.org", 12) == "store…le.org"
    assert short("東" * 12, 22) == "東" * 5 + "…" + "東" * 5
    assert short("ש" * 30, 10) == "\u2068" + "ש" * 4 + "…" + "ש" * 5 + "\u2069"
    assert short("a" * 9 + "e\u0301" * 9, 6) == "aa…" + "e\u0301" * 3


@pytest.mark.parametrize("name", ["a" * 30, "東" * 30, "ש" * 30, "e\u0301" * 30, "東a" * 20])
def test_a_cut_name_takes_no_more_than_it_may(name):
    """Whatever it is made of, and it has its beginning and its end."""
    for most in range(3, 25):
        cut = short(name, most)
        columns = {"東": 2, "\u0301": 0, "\u2068": 0, "\u2069": 0}
        assert sum(columns.get(character, 1) for character in cut) <= most
        head, tail = cut.strip("\u2068\u2069").split("…")
        assert name.startswith(head)
        assert name.endswith(tail)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize("name", ["it's", "a\u202e\\'b", "--x", "$(id)", "\U000e0041é`id`"])
def test_a_shell_reads_the_name(name):
    """As one word, and as it is."""
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quoted(name)}"],  # noqa: S607
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == name
    assert quoted(name).isprintable()


@pytest.mark.parametrize(
    ("sentence", "told"),
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
def test_arms_are_told_by_their_names(sentence, told):
    """Each once, whatever the name is; a number that is no arm's stays."""
    assert with_names(sentence, ["red", "Arm B", "a\u202eb", "0"]) == told
