"""What a queue's name and quota must be."""

from typing import Any

import pytest

from quotas.arithmetic import QueueAmounts
from quotas.rules import path_problems, quota_problems


def amounts(path: str, guarantee: int) -> QueueAmounts:
    """A queue with a guarantee."""
    return QueueAmounts(path=path, guarantee_milli=guarantee, limit_milli=None, used_milli=0)


def told(**given: Any) -> dict[str, str]:
    """Path to sentence."""
    defaults: dict[str, Any] = {
        "guarantee_milli": 0,
        "limit_milli": None,
        "weight": 1,
        "max_priority": 1000,
        "parent": None,
        "siblings": [],
        "children": [],
    }
    return {item.path: str(item.problem) for item in quota_problems(**{**defaults, **given})}


def test_what_is_promised_of_a_type_fits_everywhere() -> None:
    """Under its own limit, inside the total, inside the parent's promise, above the children's."""
    assert told(guarantee_milli=8000, type_guarantees={"h100": 4000}, type_limits={"h100": 4000}) == {}
    found = told(guarantee_milli=8000, type_guarantees={"h100": 4000}, type_limits={"h100": 3000})
    assert found == {"type_limits.h100": "of 3 is below the guarantee of 4"}
    assert list(told(guarantee_milli=2000, type_guarantees={"h100": 4000})) == ["type_guarantees"]
    parent = QueueAmounts(
        path="p", guarantee_milli=8000, limit_milli=None, used_milli=0, type_guarantees={"h100": 4000}
    )
    sibling = QueueAmounts(
        path="p/s", guarantee_milli=2000, limit_milli=None, used_milli=0, type_guarantees={"h100": 2000}
    )
    fits = {"guarantee_milli": 4000, "parent": parent, "siblings": [sibling]}
    assert told(**fits, type_guarantees={"h100": 2000}) == {}
    assert list(told(**fits, type_guarantees={"h100": 2001})) == ["type_guarantees.h100"]
    assert list(told(**fits, type_guarantees={"a100": 1})) == ["type_guarantees.a100"]
    below = told(guarantee_milli=4000, type_guarantees={"h100": 1000}, children=[sibling])
    assert below == {"type_guarantees.h100": "is less than the 2 promised to the queues below"}


def test_problems_of_types_come_by_name() -> None:
    """Not in the order of a set, which differs from process to process."""
    names = [f"type-{letter}" for letter in "hgfedcba"]
    limits, guarantees = dict.fromkeys(names, 1000), dict.fromkeys(names, 2000)
    found = told(guarantee_milli=16_000, type_guarantees=guarantees, type_limits=limits)
    assert list(found) == [f"type_limits.{name}" for name in sorted(names)]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"type_limits": {"h 100": 1}}, "type_limits"),
        ({"type_limits": {"h100": -1}}, "type_limits.h100"),
        ({"type_limits": {f"t{number}": 1 for number in range(33)}}, "type_limits"),
        ({"user_limit_milli": -1}, "user_limit"),
    ],
)
def test_limits_of_types_and_users_have_their_ranges(given: dict[str, Any], path: str) -> None:
    """Told by the path of what is wrong."""
    assert list(told(**given)) == [path]


@pytest.mark.parametrize("path", ["research", "research/nlp", "团队/微调", "a-1/b_2/c.3", "x" * 60])
def test_good_paths(path: str) -> None:
    """Any script; at most six levels."""
    assert path_problems(path) == []


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("", "must not have an empty part"),
        ("a//b", "must not have an empty part"),
        ("/a", "must not have an empty part"),
        ("a/", "must not have an empty part"),
        ("x" * 61, "has a part of more than 60 characters"),
        ("a/b/c/d/e/f/g", "must have at most 6 levels"),
        ("/".join(["x" * 50] * 5), "must have at most 200 characters"),
        ("e\u0301cole", "must be written in composed characters (Unicode NFC)"),
        ("a/forecast", "must not be “forecast”: the API means something else by that"),
    ],
)
def test_bad_paths(path: str, sentence: str) -> None:
    """Each with its rule."""
    assert [str(item.problem) for item in path_problems(path)] == [sentence]


@pytest.mark.parametrize("path", ["..", "a/../b", "=1+1", "-a", "a b", "<b>", "a\0", "a\nb", "@x", "a%2fb"])
def test_paths_that_could_mean_something_else(path: str) -> None:
    """To a shell, a browser, a spreadsheet or a file system."""
    rule = "must have parts of letters, digits, “-”, “_” and “.” that begin with a letter or digit"
    assert rule in [str(item.problem) for item in path_problems(path)]


def test_a_limit_below_the_guarantee_is_told_with_numbers() -> None:
    """In devices."""
    assert told(guarantee_milli=4000, limit_milli=2500) == {"limit": "of 2.5 is below the guarantee of 4"}


def test_children_cannot_be_promised_more_than_the_parent_has() -> None:
    """Brothers and sisters counted."""
    problems = told(
        guarantee_milli=3000,
        parent=amounts("research", 8000),
        siblings=[amounts("research/a", 4000), amounts("research/b", 2000)],
    )
    assert problems == {"guarantee": "is more than “research” has left to give: 2 of its own guarantee of 8"}


def test_a_guarantee_of_nothing_fits_everywhere() -> None:
    """Also where the parent has promised too much already."""
    assert told(guarantee_milli=0, parent=amounts("a", 0), siblings=[amounts("a/b", 1000)]) == {}


def test_a_parent_cannot_have_less_than_it_promised() -> None:
    """To its children."""
    problems = told(guarantee_milli=1000, children=[amounts("a/b", 1500)])
    assert problems == {"guarantee": "is less than the 1.5 promised to the queues below"}


def test_every_number_out_of_range_is_told_at_once() -> None:
    """With both bounds."""
    problems = told(guarantee_milli=-1, limit_milli=10**13, weight=0, max_priority=1001)
    assert problems == {
        "guarantee": "must be between 0 and 1000000000",
        "limit": "must be between 0 and 1000000000",
        "weight": "must be between 1 and 10000",
        "max_priority": "must be between 0 and 1000",
    }
