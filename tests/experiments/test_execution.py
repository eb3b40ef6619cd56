"""Playing into a folder: what is there is kept, what is damaged replaced, what is missing told."""

import os
import shutil

import pytest
from msgspec.structs import replace

from tutelage import experiments, lab, results
from tutelage.atomic_files import alone_in
from tutelage.errors import InputError
from tutelage.experiments import preparation
from tutelage.experiments.parsing import parse_experiment


@pytest.fixture
def experiment(small):
    """The small experiment."""
    return parse_experiment(small, "small.toml")


@pytest.fixture(scope="module")
def once(small, tmp_path_factory):
    """A folder in which the small experiment has been played."""
    folder = tmp_path_factory.mktemp("once")
    experiments.run_experiment(parse_experiment(small, "small.toml"), folder)
    return folder


@pytest.fixture
def folder(once, tmp_path):
    """A copy of that folder."""
    return shutil.copytree(once, tmp_path / "copy")


def contents(folder):
    """Every file with what is in it."""
    return {path.name: path.read_bytes() for path in sorted((folder / preparation.CELLS).iterdir())}


def refuse(*arguments, **options):
    """Stands where nothing may be played."""
    raise AssertionError("something was played")


def test_a_finished_one_does_nothing(experiment, folder, monkeypatch):
    """Not a run is played and not a file touched; the panels are the same."""
    before, times = contents(folder), [path.stat().st_mtime_ns for path in (folder / "cells").iterdir()]
    monkeypatch.setattr(lab, "run", refuse)
    told = []
    again = experiments.run_experiment(experiment, folder, progress=lambda *what: told.append(what))
    assert contents(folder) == before
    assert [path.stat().st_mtime_ns for path in (folder / "cells").iterdir()] == times
    assert not any(cell.is_new for cell in again.cells)
    assert len(again.cells) == 6
    assert [data.panel.name for data in again.panels] == ["curves", "costs", "dots"]
    assert not told
    assert not again.notes


def test_panels_of_the_same_cells_share_them(experiment, folder):
    """Regret and cost of the same cells are one dataset, each with its own claims."""
    played = experiments.run_experiment(experiment, folder)
    assert played.panels[0].dataset is played.panels[1].dataset
    assert [verdict.text for verdict in played.panels[0].verdicts] == ["Knowing is better than not teaching."]
    assert played.panels[0].verdicts[0].figures.startswith("regret: known ")
    assert played.panels[1].verdicts == []


def test_only_what_is_new_is_played(experiment, folder):
    """One teacher more costs two cells; those of the others stay."""
    more = replace(experiment, teachers=(*experiment.teachers, "na"))
    played = experiments.run_experiment(more, folder)
    assert [cell.name for cell in played.cells if cell.is_new] == ["fixed-all-na-300", "random-all-na-300"]


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(experiment, once, tmp_path, workers):
    """Every cell has the same bytes, however many runs are played at a time."""
    experiments.run_experiment(experiment, tmp_path, workers=workers)
    assert contents(tmp_path) == contents(once)


def test_processes_change_nothing(experiment, once, tmp_path):
    """Nor do processes, here for the cells of one teacher."""
    one = replace(experiment, teachers=("none",), panels=())
    experiments.run_experiment(one, tmp_path, workers=2, executor="processes")
    made = contents(tmp_path)
    assert len(made) == 2
    assert made == {name: content for name, content in contents(once).items() if name in made}


def cut(path):
    """The end is missing."""
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    """Another value in a place without checksum, in a file that can be read."""
    changed = results.load(path)
    changed["consultations"][0, 0] += 1
    results.save(changed, path)


def swap(path):
    """The cell of another teacher under this name."""
    other = next(each for each in path.parent.iterdir() if "none" in each.name and each != path)
    shutil.copy(other, path)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (cut, "cannot be read"),
        (flip, "was changed or damaged"),
        (swap, "is the result of other settings"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: path.write_text("not a result"), "cannot be read"),
    ],
)
def test_a_damaged_or_foreign_cell_is_replaced(experiment, once, folder, harm, reason):
    """It is played again, with a sentence, and is then what it was."""
    path = next(path for path in (folder / "cells").iterdir() if "fixed-all-twl" in path.name)
    harm(path)
    played = experiments.run_experiment(experiment, folder)
    assert [cell.path for cell in played.cells if cell.is_new] == [path]
    (note,) = played.notes
    assert reason in note
    assert str(path) in note
    assert note.endswith("fixed-all-twl-1-0-300 is simulated again.")
    assert contents(folder) == contents(once)


def test_a_folder_in_place_of_a_cell(experiment, folder):
    """What cannot be replaced is an error of the machine's, told by its path."""
    path = next(iter((folder / "cells").iterdir()))
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="is a folder"):
        experiments.run_experiment(experiment, folder)


def test_leftovers_of_a_killed_process_are_removed(experiment, folder):
    """What was left half written beside cells or report goes with the next play, however new it is."""
    left = [place / ".tutelage-0123456789abcdef.part" for place in (folder, folder / "cells")]
    for path in left:
        path.write_bytes(b"half")
    experiments.run_experiment(experiment, folder)
    assert not any(path.exists() for path in left)


@pytest.mark.skipif(os.name == "nt", reason="no such lock there")
def test_two_at_once_are_refused(experiment, folder):
    """The second is told so, and what the first is writing is not removed."""
    with alone_in(folder):
        left = folder / "cells" / ".tutelage-0123456789abcdef.part"
        left.write_bytes(b"half")
        with pytest.raises(InputError, match="Another tutelage is at work"):
            experiments.run_experiment(experiment, folder)
        assert left.exists()
    experiments.run_experiment(experiment, folder)


def test_progress_that_is_no_function_is_refused(experiment, tmp_path):
    """Before anything is played or made."""
    with pytest.raises(InputError, match="Invalid progress 3: give a function"):
        experiments.run_experiment(experiment, tmp_path / "new", progress=3)
    assert not (tmp_path / "new").exists()


def test_progress_ends_with_all_runs(experiment, tmp_path):
    """It rises from 0 to the number of runs that had to be played: 3 teachers of 2 and 3 x 2 runs."""
    told = []
    experiments.run_experiment(experiment, tmp_path, progress=lambda *what: told.append(what))
    done = [played for played, _, _ in told]
    assert done == sorted(done)
    assert {total for _, total, _ in told} == {24}
    assert done[0] == 0
    assert done[-1] == 24
    assert {name for _, _, name in told} == {
        f"{instance}-all-{teacher}-300"
        for instance in ("fixed", "random")
        for teacher in ("twl-1-0", "known", "none")
    }


def test_one_failure_in_a_set_ends_it(experiment, tmp_path, monkeypatch):
    """The error comes out as it was; cells before it are kept."""
    real = lab.simulate_request

    def run(request, **options):
        if request.instance.name.startswith("uniform:clients=3,arms=2,seed=5"):
            raise InputError("Instance 5 cannot be played.")
        return real(request, **options)

    monkeypatch.setattr(lab, "run", run)
    with pytest.raises(InputError, match=r"Instance 5 cannot be played\."):
        experiments.run_experiment(experiment, tmp_path, workers=2)
    assert len(contents(tmp_path)) == 3


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


def test_data_not_at_hand_is_told(with_movies, folder, monkeypatch):
    """The panel is missing with a sentence on how to get it, and all else is there."""
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    played = experiments.run_experiment(with_movies, folder)
    assert [data.panel.name for data in played.panels] == ["curves", "costs", "dots"]
    (missing,) = played.missing
    assert missing.panel.name == "films"
    for word in ("ml-latest-small.zip", "https://files.grouplens.org", "--data", "TUTELAGE_DATA"):
        assert word in missing.sentence


RATINGS = "userId,movieId,rating,timestamp\n" + "".join(
    f"{user},{movie},{(user + movie) % 5 + 0.5},0\n" for user in range(4) for movie in range(4)
)


@pytest.mark.parametrize("place", ["ml-latest-small/ratings.csv", "ratings.csv"])
@pytest.mark.parametrize("by", ["option", "environment"])
def test_data_is_found(with_movies, folder, tmp_path, monkeypatch, place, by):
    """In the folder's own folder of that name or itself; a copy that is not as published is told of."""
    file = tmp_path / "data" / place
    file.parent.mkdir(parents=True)
    file.write_text(RATINGS, encoding="utf-8")
    data = str(tmp_path / "data")
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    if by == "environment":
        monkeypatch.setenv("TUTELAGE_DATA", data)
    played = experiments.run_experiment(with_movies, folder, data=data if by == "option" else None)
    assert not played.missing
    assert "films" in [data.panel.name for data in played.panels]
    (note,) = played.notes
    assert "differs from the published ratings.csv of ml-latest-small" in note


def test_damaged_data_is_no_reason_to_fail(with_movies, folder, tmp_path):
    """The panel is missing with the reason, the others are there."""
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,many,3\n", encoding="utf-8")
    played = experiments.run_experiment(with_movies, folder, data=str(tmp_path))
    assert [each.panel.name for each in played.missing] == ["films"]
    assert "'many'" in played.missing[0].sentence
    assert len(played.panels) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workers": 0}, "0 workers are too few"),
        ({"executor": "clouds"}, "no executor 'clouds'"),
        ({"data": "/no/such/folder"}, "no file or folder '/no/such/folder'"),
    ],
)
def test_bad_options_are_refused_first(experiment, tmp_path, options, told):
    """Before anything is played or made."""
    with pytest.raises(InputError, match=told):
        experiments.run_experiment(experiment, tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_a_folder(experiment, tmp_path):
    """A file stands where the folder should be."""
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


@pytest.mark.parametrize("given", [None, 3, [], [None], "small.toml", {}])
def test_what_is_no_experiment(given, tmp_path):
    """It is told before a folder is made."""
    with pytest.raises(InputError, match="Not an experiment"):
        experiments.run_experiment(given, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("folder", [None, 3, "", " ", b"x", "\0"])
def test_what_is_no_folder(experiment, folder):
    """Nothing is played into a place without a name."""
    with pytest.raises(InputError):
        experiments.run_experiment(experiment, folder)


def test_cells_in_no_panel_are_counted(experiment, tmp_path):
    """They are played and kept, and one line says how many and which."""
    fewer = replace(experiment, panels=experiment.panels[:2])
    played = experiments.run_experiment(fewer, tmp_path)
    assert played.notes == [
        "small: 3 cells are in no panel (random with all at 300); the results are only stored as files in cells."
    ]
    assert len(played.cells) == 6
    one = replace(fewer, teachers=("none",), panels=tuple(map(bare, fewer.panels)))
    (note,) = experiments.run_experiment(one, tmp_path).notes
    assert "1 cell is in no panel" in note
    assert "only stored as a file" in note


def bare(panel):
    """The panel without its claims."""
    return replace(panel, claims=())


def test_several_experiments_share_a_folder(experiment, folder):
    """Equal cells of two are played and listed once."""
    twin = replace(experiment, name="twin")
    played = experiments.run_experiment((experiment, twin), folder)
    assert len(played.panels) == 6
    assert len(played.cells) == 6
    assert [each.name for each in played.experiments] == ["small", "twin"]


def test_the_fingerprint_is_of_what_is_shown(experiment, folder):
    """The same again has the same; another claim has another although no cell changes."""
    first = experiments.run_experiment(experiment, folder).fingerprint
    assert experiments.run_experiment(experiment, folder).fingerprint == first
    other = replace(experiment, title="Another")
    assert experiments.run_experiment(other, folder).fingerprint != first
