"""``tutelage data`` as people and scripts meet it."""

import json

from tutelage.cli.app import execute
from tutelage.experiments.data_sets import DATA_SETS


def test_the_list_names_everything(capsys):
    """Address, licence, size and sum of each, on lines that can be copied."""
    assert execute(["data"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert not printed.err
    for each in DATA_SETS:
        for word in (each.name, each.address, each.page, each.licence):
            assert any(line.endswith(word) for line in lines), word
        for part in each.parts:
            assert f"{part.size:,} bytes, sha256 {part.sha256}" in printed.out
    assert "TUTELAGE_DATA" in printed.out


def test_the_list_as_json(capsys):
    """One document with the same."""
    assert execute(["data", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document["data"]] == [each.name for each in DATA_SETS]
    assert document["data"][0]["archive"]["sha256"] == DATA_SETS[0].archive.sha256


def test_a_copy_that_is_not_as_published(tmp_path, capsys):
    """Status 1 and a sentence; as JSON too."""
    (tmp_path / "ratings.csv").write_text("1,2,3\n")
    assert execute(["data", "--check", str(tmp_path)]) == 1
    assert "differs from the published ratings.csv of ml-latest-small" in capsys.readouterr().out
    assert execute(["data", "--check", str(tmp_path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["whole"] is False
    assert [file["state"] for file in document["files"]] == ["different"]


def test_a_copy_that_is_as_published(data, capsys):
    """Status 0, and each file is named."""
    assert execute(["data", "--check", str(data / "ml-latest-small")]) == 0
    assert "ratings.csv is as published" in capsys.readouterr().out


def test_nothing_to_check(tmp_path, capsys):
    """Nothing known there, or nothing at all, is one sentence and status 2."""
    assert execute(["data", "--check", str(tmp_path)]) == 2
    assert "contains no file of a known data set" in capsys.readouterr().err
    assert execute(["data", "--check", str(tmp_path / "no")]) == 2
    assert "There is no file or folder" in capsys.readouterr().err
