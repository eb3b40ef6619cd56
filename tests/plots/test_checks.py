"""What cannot be drawn is told in one sentence."""

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.plots import KINDS, check_drawable, kinds_of, picture

HARMS = {
    "lacks regret[teacher, run, client, checkpoint]": lambda data: data.drop_vars("regret"),
    "lacks cost[": lambda data: data.drop_vars("cost"),
    "lacks pulls[teacher, run, client, checkpoint, arm]": lambda data: data.drop_vars("pulls"),
    "lacks gap[arm]": lambda data: data.drop_vars("gap"),
    "lacks the coordinate teacher": lambda data: data.drop_vars("teacher"),
    "lacks the coordinate checkpoint": lambda data: data.drop_vars("checkpoint"),
    "holds no runs": lambda data: data.isel(run=slice(0, 0)),
    "holds no teachers": lambda data: data.isel(teacher=slice(0, 0)),
    "holds no clients": lambda data: data.isel(client=slice(0, 0)),
    "holds no checkpoints": lambda data: data.isel(checkpoint=slice(0, 0)),
    "holds no arms": lambda data: data.isel(arm=slice(0, 0)),
    "holds regret[teacher, foo, client, checkpoint] instead of": lambda data: data.rename(run="foo"),
    "holds regret[zz, teacher, run, client, checkpoint] instead of": lambda data: data.expand_dims(zz=2),
    "regret is not finite": lambda data: data.assign(regret=data.regret * np.nan),
    "cost is not finite": lambda data: data.assign(cost=data.cost + np.inf),
    "regret is below 0": lambda data: data.assign(regret=-data.regret - 1),
    "regret is not made of numbers": lambda data: data.assign(regret=data.regret.astype(str)),
    "teachers are not SPECs": lambda data: data.assign_coords(teacher=np.arange(5)),
    "checkpoints are not rounds": lambda data: data.assign_coords(checkpoint=-data.checkpoint),
}


@pytest.mark.parametrize("told", HARMS)
def test_what_is_wrong_is_named(result, told):
    """The variable, dimension or value, and the remedy."""
    with pytest.raises(InputError) as caught:
        check_drawable(HARMS[told](result), KINDS, "'x.nc'")
    assert told in str(caught.value)
    assert str(caught.value).startswith("'x.nc' cannot be drawn: it")
    assert str(caught.value).endswith("--kind.")


def test_pulls_are_only_needed_for_their_map(result):
    """The other kinds can be drawn without."""
    without = result.drop_vars(["pulls", "gap"])
    check_drawable(without, ("curves", "scatter", "clients"))
    assert picture(without, "curves").axes
    with pytest.raises(InputError, match="lacks pulls"):
        picture(without, "pulls")


@pytest.mark.parametrize("name", ["result", "one_run", "instances"])
def test_good_ones_pass(request, name):
    """Results of every shape."""
    data = request.getfixturevalue(name)
    check_drawable(data, kinds_of(data))
