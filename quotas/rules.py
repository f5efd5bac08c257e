"""What a queue's name and quota must be: every rule a sentence, all broken ones at once. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from quotas.arithmetic import SEPARATOR, QueueAmounts, devices, guaranteed_by_type, guaranteed_milli
from refusals import Problem

LONGEST_PATH = 200
LONGEST_NAME = 60
DEEPEST = 6
MOST_MILLI = 10**12  # a billion accelerators: far from the column's end, also when summed up
MOST_WEIGHT = 10_000
MOST_PRIORITY = 1000
MOST_TYPES = 32
NONE: Mapping[str, int] = MappingProxyType({})
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


RESERVED_NAMES = frozenset({"forecast", "usage"})  # `queues/<path>/forecast` is not a queue


def path_problems(path: str) -> list[Problem]:
    """What is wrong with a queue's path such as `research/nlp` or `团队/微调`."""
    names = path.split(SEPARATOR)
    problems = [Problem("path", problem) for name in names if (problem := _name_problem(name)) is not None]
    if len(path) > LONGEST_PATH:
        problems.append(Problem("path", _("must have at most %(most)d characters") % {"most": LONGEST_PATH}))
    if len(names) > DEEPEST:
        problems.append(Problem("path", _("must have at most %(most)d levels") % {"most": DEEPEST}))
    return problems


def quota_problems(
    *,
    guarantee_milli: int,
    limit_milli: int | None,
    weight: int,
    max_priority: int,
    user_limit_milli: int | None = None,
    type_guarantees: Mapping[str, int] = NONE,
    type_limits: Mapping[str, int] = NONE,
    parent: QueueAmounts | None,
    siblings: Sequence[QueueAmounts],
    children: Sequence[QueueAmounts],
) -> list[Problem]:
    """What is wrong with these numbers, given the queues around."""
    return [
        *_ranges(guarantee_milli, limit_milli, weight, max_priority, user_limit_milli),
        *_below_limit(guarantee_milli, limit_milli),
        *_fits_parent(guarantee_milli, parent, siblings),
        *_bears_children(guarantee_milli, children),
        *_types("type_guarantees", type_guarantees),
        *_types("type_limits", type_limits),
        *_types_below_limits(type_guarantees, type_limits),
        *_types_within_total(type_guarantees, guarantee_milli),
        *_types_fit_parent(type_guarantees, parent, siblings),
        *_types_bear_children(type_guarantees, children),
    ]


def _ranges(
    guarantee: int, limit: int | None, weight: int, priority: int, user_limit: int | None
) -> Iterator[Problem]:
    checks: Iterable[tuple[str, int, int, int, bool]] = (
        ("guarantee", guarantee, 0, MOST_MILLI, True),
        ("limit", 0 if limit is None else limit, 0, MOST_MILLI, True),
        ("user_limit", 0 if user_limit is None else user_limit, 0, MOST_MILLI, True),
        ("weight", weight, 1, MOST_WEIGHT, False),
        ("max_priority", priority, 0, MOST_PRIORITY, False),
    )
    for name, value, least, most, in_milli in checks:
        if not least <= value <= most:
            bounds = {"least": least, "most": devices(most) if in_milli else most}
            yield Problem(name, _("must be between %(least)s and %(most)s") % bounds)


def _below_limit(guarantee: int, limit: int | None) -> Iterator[Problem]:
    if limit is not None and limit < guarantee:
        numbers = {"limit": devices(limit), "guarantee": devices(guarantee)}
        yield Problem("limit", _("of %(limit)s is below the guarantee of %(guarantee)s") % numbers)


def _fits_parent(
    guarantee: int, parent: QueueAmounts | None, siblings: Sequence[QueueAmounts]
) -> Iterator[Problem]:
    if parent is None or guarantee == 0:
        return
    promised = guaranteed_milli(siblings)
    if promised + guarantee > parent.guarantee_milli:
        numbers = {
            "parent": parent.path,
            "has": devices(parent.guarantee_milli),
            "left": devices(max(0, parent.guarantee_milli - promised)),
        }
        yield Problem(
            "guarantee",
            _("is more than “%(parent)s” has left to give: %(left)s of its own guarantee of %(has)s")
            % numbers,
        )


def _bears_children(guarantee: int, children: Sequence[QueueAmounts]) -> Iterator[Problem]:
    promised = guaranteed_milli(children)
    if promised > max(guarantee, 0):
        yield Problem(
            "guarantee",
            _("is less than the %(promised)s promised to the queues below") % {"promised": devices(promised)},
        )


def _types(key: str, amounts: Mapping[str, int]) -> Iterator[Problem]:
    if len(amounts) > MOST_TYPES:
        yield Problem(key, _("must name at most %(most)d accelerator types") % {"most": MOST_TYPES})
    for name, amount in amounts.items():
        if not _TYPE.fullmatch(name):
            yield Problem(key, _("is not the name of an accelerator type: %(given)s") % {"given": name[:60]})
        elif not 0 <= amount <= MOST_MILLI:
            bounds = {"least": 0, "most": devices(MOST_MILLI)}
            yield Problem(f"{key}.{name}", _("must be between %(least)s and %(most)s") % bounds)


def _types_below_limits(guarantees: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[Problem]:
    for name in sorted(guarantees.keys() & limits.keys()):
        if limits[name] < guarantees[name]:
            numbers = {"limit": devices(limits[name]), "guarantee": devices(guarantees[name])}
            rule = _("of %(limit)s is below the guarantee of %(guarantee)s")
            yield Problem(f"type_limits.{name}", rule % numbers)


def _types_within_total(guarantees: Mapping[str, int], guarantee: int) -> Iterator[Problem]:
    """What is promised of a type is part of what is promised in total."""
    promised = sum(guarantees.values())
    if promised > max(guarantee, 0):
        numbers = {"promised": devices(promised), "guarantee": devices(guarantee)}
        rule = _("make %(promised)s together, more than the guarantee of %(guarantee)s")
        yield Problem("type_guarantees", rule % numbers)


def _types_fit_parent(
    guarantees: Mapping[str, int], parent: QueueAmounts | None, siblings: Sequence[QueueAmounts]
) -> Iterator[Problem]:
    promised = guaranteed_by_type(siblings)
    for name, amount in guarantees.items() if parent else ():
        has = parent.type_guarantees.get(name, 0) if parent else 0
        if amount and promised.get(name, 0) + amount > has:
            numbers = {
                "parent": parent.path if parent else "",
                "has": devices(has),
                "left": devices(max(0, has - promised.get(name, 0))),
            }
            rule = _("is more than “%(parent)s” has left to give: %(left)s of its own guarantee of %(has)s")
            yield Problem(f"type_guarantees.{name}", rule % numbers)


def _types_bear_children(
    guarantees: Mapping[str, int], children: Sequence[QueueAmounts]
) -> Iterator[Problem]:
    for name, promised in guaranteed_by_type(children).items():
        if promised > guarantees.get(name, 0):
            rule = _("is less than the %(promised)s promised to the queues below")
            yield Problem(f"type_guarantees.{name}", rule % {"promised": devices(promised)})


def _name_problem(name: str) -> str | Promise | None:
    if not name:
        return _("must not have an empty part")
    if len(name) > LONGEST_NAME:
        return _("has a part of more than %(most)d characters") % {"most": LONGEST_NAME}
    if unicodedata.normalize("NFC", name) != name:
        return _("must be written in composed characters (Unicode NFC)")
    if name in RESERVED_NAMES:
        return _("must not be “%(name)s”: the API means something else by that") % {"name": name}
    if not name[0].isalnum() or not all(char.isalnum() or char in "-_." for char in name):
        return _("must have parts of letters, digits, “-”, “_” and “.” that begin with a letter or digit")
    return None
