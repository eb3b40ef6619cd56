"""Faulty user settings of matplotlib do not prevent drawing."""

import logging
import os

import pytest

from tutelage.plots.matplotlib_import import quiet_matplotlib

_DRAW = """
import sys, warnings
warnings.simplefilter("error")
from tutelage import plots, simulate
data = simulate("paper", ["none"], horizon=20, runs=2)
sys.stdout.write(str(len(plots.render_figure(plots.draw_panel(data, "regret"), ".png"))))
"""


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({}, b"lines.linewidth: 2\n"),
        ({"MPLBACKEND": "nonsense"}, b""),
        ({}, b"\xff\xfe"),
        ({"MPLBACKEND": "nonsense"}, b"\xff\xfe"),
        ({}, b"backend: nonsense\nfont.size: abc\nbogus: 3\ntext.usetex: True\n"),
        ({"MPLCONFIGDIR": "/dev/null/x"}, b""),
    ],
)
def test_faulty_settings_are_ignored(tmp_path, python, variables, settings):
    """The picture is drawn without any message."""
    file = tmp_path / "settings"
    file.write_bytes(settings)
    ended = python("-c", _DRAW, env=os.environ | {"MATPLOTLIBRC": str(file)} | variables)
    assert int(ended.stdout) > 5000
    assert not ended.stderr


def test_an_unreadable_matplotlibrc_in_the_current_folder(tmp_path, python):
    """Matplotlib always reads this file, so one sentence names it, without a traceback."""
    (tmp_path / "matplotlibrc").write_bytes(b"\xff\xfe")
    ended = python("-m", "tutelage", "plot", "x.nc", cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert "matplotlib cannot read its settings" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_the_users_settings_are_left_as_they_are():
    """The level of matplotlib's logger is restored."""
    logger = logging.getLogger("matplotlib")
    before = logger.level
    with quiet_matplotlib():
        assert logger.level == logging.ERROR
    assert logger.level == before
