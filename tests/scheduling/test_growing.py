"""Tables that grow share what they have in common, and nothing that was read changes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduling.growing import GrowingTable

ROWS = st.lists(st.integers(-9, 9), max_size=4)


def table(numbers: list[int]) -> np.ndarray:
    """One column of numbers, and their doubles."""
    return np.array([numbers, [2 * number for number in numbers]], dtype=np.int64).reshape(2, -1)


@given(steps=st.lists(st.tuples(st.integers(0, 5), ROWS), max_size=12))
def test_every_branch_keeps_its_own_rows(steps: list[tuple[int, list[int]]]) -> None:
    """Any table may be grown again at any time; each reads as the rows that it was given."""
    grown, meant = [GrowingTable(table([7]))], [[7]]
    for at, numbers in steps:
        origin = at % len(grown)
        grown.append(grown[origin].grown(table(numbers)))
        meant.append(meant[origin] + numbers)
    for each, numbers in zip(grown, meant, strict=True):
        assert np.array_equal(each.columns(), table(numbers))


def test_growing_in_place_copies_nothing() -> None:
    """The second step writes behind the first one's rows."""
    first = GrowingTable(table([1])).grown(table([2]))
    second = first.grown(table([3]))
    assert np.shares_memory(first.columns(), second.columns())
    assert first.columns().shape == (2, 2)
