"""Plan a campaign: whether learning can end in time, what it costs, and which teacher to run.

``make_request`` resolves and checks its arguments, ``make_plan`` simulates and returns a ``Plan``::

    from tutelage import load_instance, planning

    case = planning.KnownInstance(load_instance("paper"))
    request = planning.make_request(case, clients="ucb1", horizon=50_000)
    plan = planning.make_plan(request)
    print(plan.choice.why)
"""

from tutelage.planning.cases import AssumedInstance, KnownInstance
from tutelage.planning.plan import CANDIDATES, Plan, PlanRequest, make_plan, make_request

__all__ = ["CANDIDATES", "AssumedInstance", "KnownInstance", "Plan", "PlanRequest", "make_plan", "make_request"]
