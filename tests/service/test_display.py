"""Names as people are shown them."""

import shutil
import subprocess

import pytest

from tutelage.service.display import quoted, short, shown


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
    """An ideograph takes two columns; the mark that ends a direction stays."""
    assert short("a" * 22, 22) == "a" * 22
    assert short("a" * 23, 22) == "a" * 21 + "…"
    assert short("東" * 12, 22) == "東" * 10 + "…"
    assert short("ש" * 30, 10) == "\u2068" + "ש" * 9 + "…\u2069"


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
