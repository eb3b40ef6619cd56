"""Check what a teacher returns, so that compiled code can rely on it.

A teacher may come from another package.  Any fault becomes an ``InputError`` that names the teacher.
"""

import itertools
import operator
from collections.abc import Sequence
from typing import Any, get_args

from tutelage.errors import InputError
from tutelage.rules import Rule
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Directive, Problem, Quota, Report, Teacher, encode_state
from tutelage.validation import is_whole

_RULES = get_args(Rule)
_MOST_CELLS = 2**28  # sums of segments, 2 GiB of them
_MOST_PULLS = 2**62


def ask(teacher: Teacher, name: str, *arguments: Any) -> Any:
    """Call a function of a teacher; what a teacher of another package raises becomes ``InputError``."""
    try:
        answer = getattr(teacher, name)(*arguments)
        if name == "begin" and _is_foreign(teacher):
            encode_state(answer)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if not _is_foreign(teacher):
            raise
        raise _fault(teacher, f"failed in {name}(): {type(error).__name__}: {error}") from error
    return answer


def ask_segments(teacher: Teacher, problem: Problem) -> tuple[int, ...]:
    """Return the teacher's cuts: increasing whole numbers from 1 to the horizon."""
    cuts = ask(teacher, "segments", problem)
    if not isinstance(cuts, Sequence) or isinstance(cuts, str):
        raise _fault(teacher, f"returned {cuts!r} from segments(): it must be a tuple of pull counts")
    cells = problem.num_clients * problem.num_arms * len(cuts)
    if cells > _MOST_CELLS:
        raise _fault(teacher, f"returned {len(cuts)} cuts from segments(), more than fit in memory")
    counts = tuple(_whole(teacher, "a cut", cut, 1, problem.horizon) for cut in cuts)
    if any(after <= before for before, after in itertools.pairwise(counts)):
        raise _fault(teacher, "returned cuts from segments() that do not increase")
    return counts


def ask_directive(teacher: Teacher, problem: Problem, state: Any) -> Directive:
    """Return the teacher's directive: one rule for each arm, existing arms, a quota that lists an arm."""
    directive = ask(teacher, "directive", state)
    if not isinstance(directive, Directive):
        raise _fault(teacher, f"returned {directive!r} from directive(): it must be a Directive")
    if len(tuple(directive.rules)) != problem.num_arms:
        raise _fault(teacher, f"returned {len(tuple(directive.rules))} rules for {problem.num_arms} arms")
    for rule in directive.rules:
        if not isinstance(rule, _RULES):
            raise _fault(teacher, f"returned {rule!r} as a rule: use a rule of tutelage.rules")
    last = problem.num_arms - 1
    for arm in directive.active_arms:
        _whole(teacher, "an active arm", arm, 0, last)
    if not directive.active_arms or len(set(directive.active_arms)) < len(directive.active_arms):
        raise _fault(teacher, f"returned the active arms {directive.active_arms}: name at least one, each once")
    for name, named in (("the leading arm", directive.leading_arm), ("the target", directive.target)):
        if named is not None:
            _whole(teacher, name, named, 0, last)
    _whole(teacher, "the number of restarts", directive.restarts, 0, 2**31 - 1)
    if directive.quota is not None:
        _check_quota(teacher, directive.quota, problem)
    return directive


def _check_quota(teacher: Teacher, quota: Any, problem: Problem) -> None:
    if not isinstance(quota, Quota) or quota.mode not in ("all", "any"):
        raise _fault(teacher, f"returned {quota!r} as a quota: it must be a Quota with the mode all or any")
    if len(quota.counts) != problem.num_arms:
        raise _fault(teacher, f"returned a quota of {len(quota.counts)} counts for {problem.num_arms} arms")
    for count in quota.counts:
        _whole(teacher, "a quota's count", count, 0, _MOST_PULLS)
    if not any(quota.counts):
        raise _fault(teacher, "returned a quota that lists no arm: use None for no further consultation")


def ask_report(teacher: Teacher, state: Any) -> Report:
    """Return the teacher's report."""
    report = ask(teacher, "report", state)
    if not isinstance(report, Report) or not isinstance(report.sentence, str):
        raise _fault(teacher, f"returned {report!r} from report(): it must be a Report with a sentence")
    _whole(teacher, "the consultations of its report", report.consultations, 0, 2**31 - 1)
    return report


def _whole(teacher: Teacher, what: str, value: Any, least: int, most: int) -> int:
    if (type(value) is int or is_whole(value)) and least <= value <= most:
        return operator.index(value)
    raise _fault(teacher, f"returned {value!r} as {what}: use a whole number from {least} to {most}")


def _is_foreign(teacher: Teacher) -> bool:
    return not type(teacher).__module__.startswith("tutelage.")


def _fault(teacher: Teacher, fault: str) -> InputError:
    return InputError(f"The teacher {TEACHERS.spec(teacher)} {fault.rstrip('.')}.")
