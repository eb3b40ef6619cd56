"""``tutelage plot``."""

import json

import pytest

import tutelage
from tutelage.cli import app


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small result on disk."""
    path = tmp_path_factory.mktemp("saved") / "mine.nc"
    tutelage.save(tutelage.simulate("paper", ["blt", "none"], horizon=200, runs=2, checkpoints=5), path)
    return path


def test_all_kinds_into_a_folder(saved, tmp_path, capsys):
    """A folder is made; each kind is a PDF and a PNG, and each is named."""
    assert app.execute(["plot", str(saved), "--out", str(tmp_path / "a" / "b")]) == 0
    wanted = [f"mine-{kind}{end}" for kind in ("curves", "scatter", "pulls", "clients") for end in (".pdf", ".png")]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(wanted)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{tmp_path / 'a' / 'b' / 'mine-curves.pdf'} shows curves"
    assert len(printed) == len(wanted) + 1
    assert printed[-1].startswith("A band of 80 % of 2 runs says little")


def test_pictures_go_next_to_the_result(saved, tmp_path):
    """Where no place is named."""
    copy = tmp_path / "copy.nc"
    copy.write_bytes(saved.read_bytes())
    assert app.execute(["plot", str(copy), "--kind", "scatter"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"copy.nc", "copy-scatter.pdf", "copy-scatter.png"}


@pytest.mark.parametrize(
    ("name", "kind", "start"),
    [("x.pdf", "scatter", b"%PDF"), ("x.PNG", "curves", b"\x89PNG"), ("x.svg", None, b"<?xml")],
)
def test_one_file(saved, tmp_path, capsys, name, kind, start):
    """Its ending says what it is; without a kind it holds the curves."""
    chosen = [] if kind is None else ["--kind", kind]
    assert app.execute(["plot", str(saved), "--out", str(tmp_path / name), *chosen, "--json"]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    document = json.loads(capsys.readouterr().out)
    assert document == {"results": [str(saved)], "pictures": [{"kind": kind or "curves", "file": str(tmp_path / name)}]}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kind", "curve"], "Invalid --kind 'curve': use curves"),
        (["--out", "x.jpg"], "Invalid --out 'x.jpg': use a file that ends in .pdf, .png, .svg"),
        (["--out", "x.pdf", "--kind", "pulls", "--kind", "curves"], "one file cannot hold pulls and curves"),
        (["--out", "nowhere/x.pdf"], "does not exist: create it first"),
        (["--out", "x.csv"], "Invalid --out 'x.csv'"),
        (["--log", "tim"], "Invalid --log 'tim': use auto, none, time, quantity, both"),
        (["--log", "time", "--kind", "pulls"], "--log time applies to curves only"),
        (["--log", "quantity", "--kind", "pulls"], "--log quantity applies to curves and clients only"),
        (["--width", "wide"], "Invalid --width 'wide': use column or page"),
        (["--teacher", "twl"], "Unknown teacher 'twl': the result has blt, none"),
        (["--label", "blt"], "Invalid --label 'blt': use NAME=TEXT"),
        (["--label", "bit=x"], "Cannot label 'bit': use the label or SPEC of a teacher (blt, none)."),
        (["--label", "tal(gamma1=0)=x=y"], "Cannot label 'tal(gamma1=0)'"),
        (["mine.nc"], "does not exist"),
    ],
)
def test_errors_before_anything_is_written(saved, tmp_path, capsys, monkeypatch, arguments, sentence):
    """One sentence, status 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert app.execute(["plot", str(saved), *arguments]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert not list(tmp_path.iterdir())


def test_files_that_are_not_results(tmp_path, capsys):
    """Neither is what is not there."""
    (tmp_path / "x.nc").write_text("no")
    assert app.execute(["plot", str(tmp_path / "x.nc")]) == 2
    assert app.execute(["plot", str(tmp_path / "y.nc")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_logarithmic_curves(saved, tmp_path):
    """The curves are other pictures, all else is as without."""
    for log in ("none", "time", "quantity", "both"):
        assert app.execute(["plot", str(saved), "--log", log, "--out", str(tmp_path / log)]) == 0
    for kind, count in (("curves", 4), ("scatter", 1), ("clients", 2)):
        assert len({path.read_bytes() for path in tmp_path.glob(f"*/mine-{kind}.png")}) == count


@pytest.mark.parametrize("lost", ["regret", "pulls", "teacher"])
def test_a_result_that_lacks_something(saved, tmp_path, capsys, lost):
    """One sentence that names the file and what it lacks; no picture and no folder is made."""
    import xarray as xr

    path = tmp_path / "lacking.nc"
    with xr.open_dataset(saved, engine="h5netcdf") as data:
        data.drop_vars(lost).to_netcdf(path, engine="h5netcdf")
    assert app.execute(["plot", str(path), "--out", str(tmp_path / "pictures")]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{str(path)!r} cannot be drawn: the ")
    assert lost in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_no_picture(saved, tmp_path, monkeypatch):
    """All is drawn before anything is written."""
    from tutelage import plots

    real = plots.draw_picture

    def picture(dataset, kind, **options):
        if kind == "clients":
            raise MemoryError
        return real(dataset, kind, **options)

    monkeypatch.setattr(plots, "draw_picture", picture)
    assert app.execute(["plot", str(saved), "--out", str(tmp_path)]) == 1
    assert not list(tmp_path.iterdir())


def test_unfinished_files_of_a_killed_process_are_removed(saved, tmp_path):
    """With the next picture in that folder."""
    (tmp_path / ".tutelage-0123456789abcdef.part").write_bytes(b"half")
    assert app.execute(["plot", str(saved), "--kind", "scatter", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine-scatter.pdf", "mine-scatter.png"}


def test_several_results_in_one_figure(saved, tmp_path, capsys, monkeypatch):
    """The picture is named after all of them, and its options reach the figure."""
    from tutelage import plots

    other = tmp_path / "other.nc"
    tutelage.save(tutelage.simulate("paper", ["tal(gamma1=0)", "blt"], horizon=100, runs=2, checkpoints=3), other)
    drawn = []
    real = plots.draw_picture
    monkeypatch.setattr(plots, "draw_picture", lambda *given, **named: drawn.append(real(*given, **named)) or drawn[-1])
    options = ["--width", "column", "--title", "Both", "--teacher", "blt", "--teacher", "tal(gamma1=0)"]
    labels = ["--label", "tal(gamma2=0,gamma1=0)=TAL(0,0) = old", "--label", "mine=First = best"]
    arguments = [str(saved), str(other), "--kind", "curves", *options, *labels, "--out", f"{tmp_path}/", "--json"]
    assert app.execute(["plot", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["results"] == [str(saved), str(other)]
    names = {each["file"].rpartition("/")[2] for each in document["pictures"]}
    assert names == {"mine-other-curves.pdf", "mine-other-curves.png"}
    (figure,) = drawn
    assert figure.get_size_inches()[0] == 3.5
    assert figure.get_suptitle() == "Both"
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["First = best: regret", "First = best: cost", "other: regret", "other: cost"]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["blt", "TAL(0,0) = old"]
    assert app.execute(["plot", str(saved), str(saved)]) == 2
    assert "named twice" in capsys.readouterr().err


def test_a_band_of_the_means(saved, tmp_path, capsys):
    """For curves only; another word or kind is refused in one sentence."""
    out = ["--out", str(tmp_path / "x.png"), "--band"]
    assert app.execute(["plot", str(saved), *out, "mean"]) == 0
    by_default = ["--out", str(tmp_path / "y.png")]
    assert app.execute(["plot", str(saved), *by_default]) == 0
    assert (tmp_path / "x.png").read_bytes() != (tmp_path / "y.png").read_bytes()
    capsys.readouterr()
    for more, message in (
        (["median"], "Invalid --band 'median': use runs or mean."),
        (["mean", "--kind", "clients"], "--band mean applies to curves only"),
    ):
        assert app.execute(["plot", str(saved), *out, *more]) == 2
        assert message in capsys.readouterr().err
