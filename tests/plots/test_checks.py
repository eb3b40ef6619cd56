"""A dataset that cannot be drawn is refused in one sentence."""

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.plots import KINDS, check_drawable, draw_picture, drawable_kinds

FAULTS = {
    "the variable regret[teacher, run, client, checkpoint] is missing": lambda data: data.drop_vars("regret"),
    "the variable cost[": lambda data: data.drop_vars("cost"),
    "the variable pulls[teacher, run, client, checkpoint, arm] is missing": lambda data: data.drop_vars("pulls"),
    "the variable gap[arm] is missing": lambda data: data.drop_vars("gap"),
    "the coordinate teacher is missing": lambda data: data.drop_vars("teacher"),
    "the coordinate checkpoint is missing": lambda data: data.drop_vars("checkpoint"),
    "contains no runs": lambda data: data.isel(run=slice(0, 0)),
    "contains no teachers": lambda data: data.isel(teacher=slice(0, 0)),
    "contains no clients": lambda data: data.isel(client=slice(0, 0)),
    "contains no checkpoints": lambda data: data.isel(checkpoint=slice(0, 0)),
    "contains no arms": lambda data: data.isel(arm=slice(0, 0)),
    "contains regret[teacher, foo, client, checkpoint] instead of": lambda data: data.rename(run="foo"),
    "contains regret[zz, teacher, run, client, checkpoint] instead of": lambda data: data.expand_dims(zz=2),
    "regret is not finite everywhere": lambda data: data.assign(regret=data.regret * np.nan),
    "cost is not finite everywhere": lambda data: data.assign(cost=data.cost + np.inf),
    "regret is negative somewhere": lambda data: data.assign(regret=-data.regret - 1),
    "regret does not consist of numbers": lambda data: data.assign(regret=data.regret.astype(str)),
    "teachers are not named": lambda data: data.assign_coords(teacher=np.arange(5)),
    "the checkpoints are not increasing rounds": lambda data: data.assign_coords(checkpoint=-data.checkpoint),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(result, fault):
    """The sentence names the variable, dimension or value, and the remedy."""
    with pytest.raises(InputError) as caught:
        check_drawable(FAULTS[fault](result), KINDS, "'x.nc'")
    assert fault in str(caught.value)
    assert str(caught.value).startswith("'x.nc' cannot be drawn: ")
    assert str(caught.value).endswith("--kind.")


def test_pulls_are_only_needed_for_their_map(result):
    """The other kinds can be drawn without pulls."""
    without = result.drop_vars(["pulls", "gap"])
    check_drawable(without, ("curves", "scatter", "clients"))
    assert draw_picture(without, "curves").axes
    with pytest.raises(InputError, match="the variable pulls"):
        draw_picture(without, "pulls")


@pytest.mark.parametrize("name", ["result", "one_run", "instances"])
def test_results_of_every_shape_pass(request, name):
    """One run, one checkpoint, a set of instances: all of them can be drawn."""
    data = request.getfixturevalue(name)
    check_drawable(data, drawable_kinds(data))
