"""One run of the engine from plain arguments."""

import numpy as np

from tutelage.engine.simulation import simulate_run
from tutelage.request import SimulationRequest


def simulate_once(
    instance,
    policies,
    teacher,
    *,
    horizon,
    seed=0,
    run=0,
    checkpoints=None,
    exclude=None,
    exclude_after=None,
    engine="step",
    binary_reveals=False,
    **options,
):
    """Play run ``run`` of a teacher; by default the horizon is the only checkpoint."""
    request = SimulationRequest(
        instance=instance,
        teachers=(teacher,),
        policies=tuple(policies),
        horizon=horizon,
        runs=run + 1,
        seed=seed,
        checkpoints=np.array([horizon]) if checkpoints is None else np.asarray(checkpoints),
        exclude=exclude or {},
        exclude_after=exclude_after,
        engine=engine,
        binary_reveals=binary_reveals,
    )
    return simulate_run(request, 0, run, **options)
