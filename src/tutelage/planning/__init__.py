"""Will learning end in time, what will it cost, and which teacher to run.

``make_request`` resolves and checks what is asked, ``run`` simulates and gives a ``Plan``::

    from tutelage import load_instance, planning

    request = planning.make_request(planning.Given(load_instance("paper")), clients="ucb1", horizon=50_000)
    plan = planning.run(request)
    print(plan.choice.why)
"""

from tutelage.planning.cases import Given, Guess
from tutelage.planning.plan import CANDIDATES, Plan, PlanRequest, make_request, run

__all__ = ["CANDIDATES", "Given", "Guess", "Plan", "PlanRequest", "make_request", "run"]
