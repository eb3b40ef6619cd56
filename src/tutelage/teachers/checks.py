"""Check what a teacher returns, so that compiled code can rely on it.

A teacher may come from another package.  Any fault becomes an ``InputError`` that names the teacher.
"""

import itertools
import operator
from collections.abc import Sequence
from typing import Any, get_args

from tutelage.code_errors import describe_code_error, is_foreign, locate_function
from tutelage.errors import InputError
from tutelage.rules import Rule
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Directive, Problem, Quota, QuotaMode, Report, Teacher, encode_state
from tutelage.text import format_value
from tutelage.validation import is_whole

_RULES = get_args(Rule)
_STATE_FUNCTIONS = ("begin", "advance", "exclude")
_MOST_CELLS = 2**28  # sums of segments, 2 GiB of them
_MOST_PULLS = 2**62


def ask(teacher: Teacher, name: str, *arguments: Any) -> Any:
    """Call a function of a teacher; what a teacher of another package raises becomes ``InputError``.

    The functions that return a state must return one of the teacher's ``state_type``.
    """
    try:
        answer = getattr(teacher, name)(*arguments)
        is_wrong = name in _STATE_FUNCTIONS and not isinstance(answer, teacher.state_type)
        if name == "begin" and not is_wrong and is_foreign(teacher):
            encode_state(answer)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if not is_foreign(teacher):
            raise
        raise _fault(teacher, f"failed in {name}(): {describe_code_error(error, teacher)}") from error
    if is_wrong:
        wanted = f"it must be a state, of the class {teacher.state_type.__name__}"
        raise _fault(teacher, f"returned {format_value(answer)} from {name}(): {wanted}", name)
    return answer


def ask_segments(teacher: Teacher, problem: Problem) -> tuple[int, ...]:
    """Return the teacher's cuts: increasing whole numbers from 1 to the horizon."""
    cuts = ask(teacher, "segments", problem)
    if not isinstance(cuts, Sequence) or isinstance(cuts, str):
        raise _fault(
            teacher, f"returned {format_value(cuts)} from segments(): it must be a tuple of pull counts", "segments"
        )
    cells = problem.num_clients * problem.num_arms * len(cuts)
    if cells > _MOST_CELLS:
        raise _fault(teacher, f"returned {len(cuts)} cuts from segments(), more than fit in memory", "segments")
    counts = tuple(_whole(teacher, "segments", "a cut", cut, 1, problem.horizon) for cut in cuts)
    if any(after <= before for before, after in itertools.pairwise(counts)):
        raise _fault(teacher, "returned cuts from segments() that do not increase", "segments")
    return counts


def ask_directive(teacher: Teacher, problem: Problem, state: Any) -> Directive:
    """Return the teacher's directive: one rule for each arm, existing arms, a quota that lists an arm."""
    directive = ask(teacher, "directive", state)
    if not isinstance(directive, Directive):
        raise _fault(
            teacher, f"returned {format_value(directive)} from directive(): it must be a Directive", "directive"
        )
    try:
        fault = _find_fault(teacher, problem, directive)
    except (AttributeError, TypeError):  # a field that is not a tuple
        fault = f"returned {format_value(directive, 200)}, in which a field has another type than in Directive"
    if fault:
        raise _fault(teacher, fault, "directive")
    return directive


def _find_fault(teacher: Teacher, problem: Problem, directive: Directive) -> str:
    """Return what is wrong with a directive; empty if nothing is."""
    if len(tuple(directive.rules)) != problem.num_arms:
        return f"returned {len(tuple(directive.rules))} rules for {problem.num_arms} arms"
    for rule in directive.rules:
        if not isinstance(rule, _RULES):
            return f"returned {format_value(rule)} as a rule: use a rule of tutelage.rules"
    last = problem.num_arms - 1
    for arm in directive.active_arms:
        _whole(teacher, "directive", "an active arm", arm, 0, last)
    if not directive.active_arms or len(set(directive.active_arms)) < len(directive.active_arms):
        return f"returned the active arms {directive.active_arms}: name at least one, each once"
    for name, named in (("the leading arm", directive.leading_arm), ("the target", directive.target)):
        if named is not None:
            _whole(teacher, "directive", name, named, 0, last)
    _whole(teacher, "directive", "the number of restarts", directive.restarts, 0, 2**31 - 1)
    _whole(teacher, "directive", "the number of windows", directive.windows, 0, 2**31 - 1)
    return "" if directive.quota is None else _find_fault_of_quota(teacher, directive.quota, problem)


def _find_fault_of_quota(teacher: Teacher, quota: Any, problem: Problem) -> str:
    if not isinstance(quota, Quota) or quota.mode not in get_args(QuotaMode):
        return f"returned {format_value(quota)} as a quota: it must be a Quota with the mode all or any"
    if len(quota.counts) != problem.num_arms:
        return f"returned a quota of {len(quota.counts)} counts for {problem.num_arms} arms"
    for count in quota.counts:
        _whole(teacher, "directive", "a quota's count", count, 0, _MOST_PULLS)
    if not any(quota.counts):
        return "returned a quota that lists no arm: use None for no further consultation"
    return ""


def ask_report(teacher: Teacher, state: Any) -> Report:
    """Return the teacher's report."""
    report = ask(teacher, "report", state)
    if not isinstance(report, Report) or not isinstance(report.sentence, str):
        raise _fault(
            teacher, f"returned {format_value(report)} from report(): it must be a Report with a sentence", "report"
        )
    _whole(teacher, "report", "the consultations of its report", report.consultations, 0, 2**31 - 1)
    return report


def _whole(teacher: Teacher, function: str, what: str, value: Any, least: int, most: int) -> int:
    if (type(value) is int or is_whole(value)) and least <= value <= most:
        return operator.index(value)
    fault = f"returned {format_value(value)} as {what}: use a whole number from {least} to {most}"
    raise _fault(teacher, fault, function)


def _fault(teacher: Teacher, fault: str, function: str = "") -> InputError:
    """Return the error that names the teacher, its fault, and where its function is that returned it."""
    place = locate_function(getattr(teacher, function)) if function else ""
    return InputError(f"The teacher {TEACHERS.spec(teacher)} {fault.rstrip('.')}{place}.")
