"""The tree's arithmetic, by example."""

import pytest

from quotas.arithmetic import (
    QueueAmounts,
    borrowed_milli,
    chain_of,
    devices,
    first_full,
    guaranteed_milli,
    is_below,
    milli,
    parent_of,
)


def amounts(path: str, *, used: int = 0, guarantee: int = 0, limit: int | None = None) -> QueueAmounts:
    """One queue's numbers, in milli."""
    return QueueAmounts(path=path, guarantee_milli=guarantee, limit_milli=limit, used_milli=used)


def test_a_chain_leads_from_the_root_to_the_queue() -> None:
    """Itself included."""
    assert chain_of("research/nlp/微调") == ("research", "research/nlp", "research/nlp/微调")
    assert chain_of("research") == ("research",)


def test_a_parent_is_one_level_up() -> None:
    """A root has none."""
    assert parent_of("research/nlp") == "research"
    assert parent_of("research") is None


def test_a_name_that_begins_alike_is_not_below() -> None:
    """`research-2` is a sibling of `research`."""
    assert is_below("research/nlp", "research")
    assert not is_below("research-2", "research")
    assert not is_below("research", "research")


def test_the_first_full_queue_is_the_one_nearest_to_the_root() -> None:
    """When several are."""
    chain = [amounts("a", used=8000, limit=8000), amounts("a/b", used=4000, limit=4000)]
    assert first_full(chain, 1000) == chain[0]


def test_a_limit_bears_exactly_itself() -> None:
    """Not a thousandth more."""
    chain = [amounts("a", used=3000, limit=4000)]
    assert first_full(chain, 1000) is None
    assert first_full(chain, 1001) == chain[0]


def test_nothing_passes_no_limit() -> None:
    """A job without accelerators starts in a queue that is over its limit."""
    assert first_full([amounts("a", used=4000, limit=2000)], 0) is None


def test_what_is_beyond_the_guarantee_is_borrowed() -> None:
    """And nothing is while it is within."""
    assert borrowed_milli(amounts("a", used=5000, guarantee=2000)) == 3000
    assert borrowed_milli(amounts("a", used=1000, guarantee=2000)) == 0


def test_promises_to_children_add_up() -> None:
    """In milli."""
    assert guaranteed_milli([amounts("a/b", guarantee=1500), amounts("a/c", guarantee=500)]) == 2000


@pytest.mark.parametrize(("number", "shown"), [(4000, 4), (500, 0.5), (0, 0), (1, 0.001), (12_345, 12.345)])
def test_devices_are_shown_as_people_count_them(number: int, shown: float) -> None:
    """And read back exactly."""
    assert devices(number) == shown
    assert milli(shown) == number


def test_a_finer_fraction_than_a_thousandth_is_refused() -> None:
    """There are none in the ledger."""
    with pytest.raises(ValueError, match="finer"):
        milli(0.0005)
