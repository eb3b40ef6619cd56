"""Running experiments into a folder: reused, replaced and missing results."""

import os
import re
import shutil

import pytest
from msgspec.structs import replace

from tutelage import experiments, results, simulator
from tutelage.atomic_files import lock_folder
from tutelage.engine import executors
from tutelage.errors import InputError
from tutelage.experiments import preparation
from tutelage.experiments.parsing import parse_experiment


@pytest.fixture
def experiment(small):
    """The small experiment."""
    return parse_experiment(small, "small.toml")


@pytest.fixture(scope="module")
def finished_folder(small, tmp_path_factory):
    """A folder with the results of the small experiment."""
    folder = tmp_path_factory.mktemp("once")
    experiments.run_experiment(parse_experiment(small, "small.toml"), folder)
    return folder


@pytest.fixture
def folder(finished_folder, tmp_path):
    """A copy of the finished folder."""
    return shutil.copytree(finished_folder, tmp_path / "copy")


def read_cells(folder):
    """Return the content of every cell by file name."""
    return {path.name: path.read_bytes() for path in sorted((folder / preparation.CELLS).iterdir())}


def refuse(*arguments, **options):
    """Replace a function that must not be called."""
    raise AssertionError("something was simulated")


def test_a_finished_experiment_is_not_run_again(experiment, folder, monkeypatch):
    """Nothing is simulated or written, and the panels are the same."""
    before, times = read_cells(folder), [path.stat().st_mtime_ns for path in (folder / "cells").iterdir()]
    monkeypatch.setattr(simulator, "simulate_groups", refuse)
    calls = []
    again = experiments.run_experiment(experiment, folder, progress=lambda *what: calls.append(what))
    assert read_cells(folder) == before
    assert [path.stat().st_mtime_ns for path in (folder / "cells").iterdir()] == times
    assert not any(cell.is_new for cell in again.cells)
    assert len(again.cells) == 6
    assert [data.panel.name for data in again.panels] == ["curves", "costs", "dots"]
    assert not calls
    assert not again.notes


def test_panels_of_the_same_cells_share_them(experiment, folder):
    """Panels of regret and cost of the same cells have one dataset and their own claims."""
    result = experiments.run_experiment(experiment, folder)
    assert result.panels[0].dataset is result.panels[1].dataset
    assert [verdict.text for verdict in result.panels[0].verdicts] == ["Knowing is better than not teaching."]
    assert result.panels[0].verdicts[0].figures.startswith("regret: known ")
    assert result.panels[1].verdicts == []


def test_only_new_cells_are_simulated(experiment, folder):
    """One more teacher costs two cells; the others are reused."""
    more = replace(experiment, teachers=(*experiment.teachers, "na"))
    result = experiments.run_experiment(more, folder)
    assert [cell.name for cell in result.cells if cell.is_new] == ["fixed-all-na-300", "random-all-na-300"]


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(experiment, finished_folder, tmp_path, workers):
    """Every cell has the same bytes for any number of workers."""
    experiments.run_experiment(experiment, tmp_path, workers=workers)
    assert read_cells(tmp_path) == read_cells(finished_folder)


def test_processes_change_nothing(experiment, finished_folder, tmp_path):
    """Processes give the same bytes, here for the cells of one teacher."""
    one = replace(experiment, teachers=("none",), panels=())
    experiments.run_experiment(one, tmp_path, workers=2, executor="processes")
    made = read_cells(tmp_path)
    assert len(made) == 2
    assert made == {name: content for name, content in read_cells(finished_folder).items() if name in made}


def truncate(path):
    """Remove the end of the file."""
    path.write_bytes(path.read_bytes()[:-100])


def change_value(path):
    """Change a value without a checksum, so that the file can still be read."""
    changed = results.load(path)
    changed["consultations"][0, 0] += 1
    results.save(changed, path)


def replace_cell(path):
    """Replace the file by the cell of another teacher."""
    other = next(each for each in path.parent.iterdir() if "none" in each.name and each != path)
    shutil.copy(other, path)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (truncate, "cannot be read"),
        (change_value, "was changed or damaged"),
        (replace_cell, "is the result of other settings"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: path.write_text("not a result"), "cannot be read"),
    ],
)
def test_a_damaged_or_foreign_cell_is_replaced(experiment, finished_folder, folder, harm, reason):
    """It is simulated again with a sentence, and then has the same bytes as before."""
    path = next(path for path in (folder / "cells").iterdir() if "fixed-all-twl" in path.name)
    harm(path)
    result = experiments.run_experiment(experiment, folder)
    assert [cell.path for cell in result.cells if cell.is_new] == [path]
    (note,) = result.notes
    assert reason in note
    assert str(path) in note
    assert note.endswith("fixed-all-twl-300 is simulated again.")
    assert read_cells(folder) == read_cells(finished_folder)


def test_a_folder_in_place_of_a_cell(experiment, folder):
    """The error says that the path is a folder."""
    path = next(iter((folder / "cells").iterdir()))
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="is a folder"):
        experiments.run_experiment(experiment, folder)


def test_leftovers_of_a_killed_process_are_removed(experiment, folder):
    """The next run removes partial files next to cells and report, whatever their age."""
    left = [place / ".tutelage-0123456789abcdef.part" for place in (folder, folder / "cells")]
    for path in left:
        path.write_bytes(b"half")
    experiments.run_experiment(experiment, folder)
    assert not any(path.exists() for path in left)


def test_a_journal_of_a_stored_cell_is_removed(experiment, finished_folder, folder):
    """A process that was killed between the two leaves both; the cell is used and nothing stays."""
    path = next(iter((folder / "cells").iterdir())).with_suffix(".runs")
    path.write_bytes(b"runs")
    experiments.run_experiment(experiment, folder)
    assert read_cells(folder) == read_cells(finished_folder)


@pytest.mark.skipif(os.name == "nt", reason="no such lock there")
def test_a_second_process_is_refused(experiment, folder):
    """The error says so, and the file that the first is writing stays."""
    with lock_folder(folder):
        left = folder / "cells" / ".tutelage-0123456789abcdef.part"
        left.write_bytes(b"half")
        with pytest.raises(InputError, match="Another tutelage process is writing"):
            experiments.run_experiment(experiment, folder)
        assert left.exists()
    experiments.run_experiment(experiment, folder)


def test_progress_must_be_a_function(experiment, tmp_path):
    """The error comes before anything is simulated or created."""
    with pytest.raises(InputError, match="Invalid progress 3: give a function"):
        experiments.run_experiment(experiment, tmp_path / "new", progress=3)
    assert not (tmp_path / "new").exists()


def test_progress_ends_with_all_runs(experiment, tmp_path):
    """It rises from 0 to the number of runs to simulate: 3 teachers with 2 and 3 x 2 runs."""
    calls = []
    experiments.run_experiment(experiment, tmp_path, progress=lambda *what: calls.append(what))
    done = [runs for runs, _, _ in calls]
    assert done == sorted(done)
    assert {total for _, total, _ in calls} == {24}
    assert done[0] == 0
    assert done[-1] == 24
    names = [f"{place}-all-{teacher}-300" for place in ("fixed", "random") for teacher in ("twl", "known", "none")]
    reported = list(dict.fromkeys(name for _, _, name in calls))
    assert reported == [name for name in names if name in reported]  # not one that is done before an earlier one
    assert (reported[0], reported[-1]) == (names[0], names[-1])


def test_one_failure_in_a_set_ends_it(experiment, tmp_path, monkeypatch):
    """The error is passed on unchanged, and earlier cells stay."""
    real = executors.simulate_run

    def run(request, *arguments, **options):
        if request.instance.name.startswith("uniform:clients=3,arms=2,seed=5"):
            raise InputError("Instance 5 cannot be simulated.")
        return real(request, *arguments, **options)

    monkeypatch.setattr(executors, "simulate_run", run)
    with pytest.raises(InputError, match=r"Instance 5 cannot be simulated\."):
        experiments.run_experiment(experiment, tmp_path, workers=1)
    assert len(list((tmp_path / "cells").glob("*.nc"))) == 3


MOVIES = """
[[instances]]
label = "movies"
spec = "movielens:clients=2,arms=2"
data = "ml-latest-small"

[[panels]]
name = "films"
quantity = "regret"
instance = "movies"
clients = "all"
"""


@pytest.fixture
def with_movies(small):
    """The small experiment with an instance that needs a data set."""
    return parse_experiment(small + MOVIES, "small.toml")


def test_data_that_is_not_found(with_movies, folder, monkeypatch):
    """The panel is missing with a sentence on how to get the data, and the others are made."""
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    result = experiments.run_experiment(with_movies, folder)
    assert [data.panel.name for data in result.panels] == ["curves", "costs", "dots"]
    (missing,) = result.missing
    assert missing.panel.name == "films"
    for word in ("ml-latest-small.zip", "https://files.grouplens.org", "--data", "TUTELAGE_DATA"):
        assert word in missing.sentence


RATINGS = "userId,movieId,rating,timestamp\n" + "".join(
    f"{user},{movie},{(user + movie) % 5 + 0.5},0\n" for user in range(4) for movie in range(4)
)


@pytest.mark.parametrize("place", ["ml-latest-small/ratings.csv", "ratings.csv"])
@pytest.mark.parametrize("by", ["option", "environment"])
def test_data_is_found(with_movies, folder, tmp_path, monkeypatch, place, by):
    """A copy is found in the folder or in its own folder within; a note says that it differs."""
    file = tmp_path / "data" / place
    file.parent.mkdir(parents=True)
    file.write_text(RATINGS, encoding="utf-8")
    data = str(tmp_path / "data")
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    if by == "environment":
        monkeypatch.setenv("TUTELAGE_DATA", data)
    result = experiments.run_experiment(with_movies, folder, data=data if by == "option" else None)
    assert not result.missing
    assert "films" in [data.panel.name for data in result.panels]
    (note,) = result.notes
    assert "differs from the published ratings.csv of ml-latest-small" in note


def test_damaged_data_leaves_out_its_panels(with_movies, folder, tmp_path):
    """The panel is missing with the reason, and the others are made."""
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,many,3\n", encoding="utf-8")
    result = experiments.run_experiment(with_movies, folder, data=str(tmp_path))
    assert [each.panel.name for each in result.missing] == ["films"]
    assert "'many'" in result.missing[0].sentence
    assert len(result.panels) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "Invalid number of workers 0"),
        ({"executor": "clouds"}, "Invalid executor 'clouds'"),
        ({"data": "/no/such/folder"}, "no file or folder '/no/such/folder'"),
    ],
)
def test_bad_options_are_refused_first(experiment, tmp_path, options, message):
    """The error comes before anything is simulated or created."""
    with pytest.raises(InputError, match=message):
        experiments.run_experiment(experiment, tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_a_folder(experiment, tmp_path):
    """A file is in place of the folder."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be created"):
        experiments.run_experiment(experiment, tmp_path / "file")


def test_clients_that_do_not_fit_the_instance(small, tmp_path):
    """The sentence names experiment, clients and instance."""
    text = small.replace('spec = "ucb1"', 'spec = "2*ucb1,3*ts"')
    with pytest.raises(InputError, match=r"small: clients 'all' on instance 'random': .* add up to 5"):
        experiments.run_experiment(parse_experiment(text, "small.toml"), tmp_path)


def test_an_instance_that_cannot_be_loaded(small, tmp_path):
    """The sentence names experiment, section and label."""
    text = small.replace('"paper"', '"no-such-means.csv"')
    with pytest.raises(InputError, match=r"small: \[\[instances\]\] 'fixed': invalid spec: .*no-such-means"):
        experiments.run_experiment(parse_experiment(text, "small.toml"), tmp_path)


@pytest.mark.parametrize("value", [None, 3, [], [None], {}])
def test_a_value_that_is_not_an_experiment(value, tmp_path):
    """The error comes before a folder is created."""
    with pytest.raises(InputError, match="Not an experiment"):
        experiments.run_experiment(value, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("folder", [None, 3, "", " ", b"x", "\0"])
def test_a_value_that_is_not_a_folder(experiment, folder):
    """Values that name no folder are refused."""
    with pytest.raises(InputError):
        experiments.run_experiment(experiment, folder)


def test_only_what_a_panel_shows_is_simulated(experiment, tmp_path):
    """The rest is neither read nor simulated, and one sentence says what it is."""
    fewer = replace(experiment, panels=experiment.panels[:2])
    result = experiments.run_experiment(fewer, tmp_path)
    assert result.notes == ["small: 1 combination is in no panel and is not simulated (random with all at 300)."]
    assert sorted(cell.name for cell in result.cells) == [
        f"fixed-all-{teacher}-300" for teacher in ("known", "none", "twl")
    ]
    assert len(read_cells(tmp_path)) == 3
    one = replace(fewer, teachers=("none",), horizons=(300, 200), panels=tuple(map(remove_claims, fewer.panels)))
    one = replace(one, panels=tuple(replace(panel, horizon=300) for panel in one.panels))
    (note,) = experiments.run_experiment(one, tmp_path).notes
    assert "3 combinations are in no panel and are not simulated (fixed with all at 200, random" in note


def test_what_is_simulated_is_announced(experiment, folder):
    """Number of cells and runs and an estimate come before the first simulation, and only where there is one."""
    calls = []
    more = replace(experiment, teachers=(*experiment.teachers, "na"))
    options = {"announce": calls.append, "progress": lambda *what: calls.append(what)}
    experiments.run_experiment(more, folder, **options)
    assert re.fullmatch(r"2 cells to simulate, 8 runs: about \d+ (s|min)\.", calls[0])
    assert len(calls) > 1
    assert not any(isinstance(call, str) for call in calls[1:])
    calls.clear()
    experiments.run_experiment(more, folder, **options)
    assert not calls


def remove_claims(panel):
    """Return the panel without its claims."""
    return replace(panel, claims=())


def test_several_experiments_share_a_folder(experiment, folder):
    """Cells that two experiments share are simulated and listed once."""
    twin = replace(experiment, name="twin")
    result = experiments.run_experiment((experiment, twin), folder)
    assert len(result.panels) == 6
    assert len(result.cells) == 6
    assert [each.name for each in result.experiments] == ["small", "twin"]


def test_the_fingerprint_covers_titles_and_claims(experiment, folder):
    """It is the same for the same experiment and changes with the title, although no cell changes."""
    first = experiments.run_experiment(experiment, folder).fingerprint
    assert experiments.run_experiment(experiment, folder).fingerprint == first
    other = replace(experiment, title="Another")
    assert experiments.run_experiment(other, folder).fingerprint != first
