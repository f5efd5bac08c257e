"""A case as it stands in a file, on the product's virtual clock."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scheduling.cases.cluster import VirtualCluster as Cluster
from scheduling.cases.document import read_case
from scheduling.cases.history import Seen
from scheduling.model import Policy


class VirtualCluster(Cluster):
    """Takes the case unread."""

    def __init__(self, case: Mapping[str, Any], *, policy: Policy | None = None) -> None:
        super().__init__(read_case(case), policy=policy)

    def at(self, t: int) -> Seen:
        """The settled state at a moment."""
        return self.history.at(t)

    @property
    def first_starts(self) -> dict[str, int]:
        """When each job started first."""
        return self.history.first_starts

    @property
    def evictions(self) -> Counter[str]:
        """How often each job was evicted for another."""
        return self.history.evictions
