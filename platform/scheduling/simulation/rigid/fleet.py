"""Equal nodes by their number of free devices, and the placement rule that all policies share."""

from collections.abc import Callable, Sequence

from scheduling.simulation.rigid.runs import Place, RigidJob


class Fleet:
    """What is free on each node. A node that is down has nothing."""

    def __init__(self, *, num_nodes: int, per_node: int) -> None:
        self.num_nodes = num_nodes
        self.per_node = per_node
        self.free = [per_node] * num_nodes
        self.is_up = [True] * num_nodes

    @property
    def num_devices(self) -> int:
        """Devices of all nodes, up or down."""
        return self.num_nodes * self.per_node

    @property
    def num_free(self) -> int:
        """Devices that could be given away now."""
        return sum(self.free)

    def take(self, place: Place) -> None:
        """Give these devices away."""
        for node, devices in place:
            self.free[node] -= devices
            if self.free[node] < 0:
                raise ValueError(f"node {node} was given away twice")

    def give(self, place: Place) -> None:
        """Get these devices back."""
        for node, devices in place:
            self.free[node] += devices

    def fail(self, node: int) -> None:
        """The node is down; nobody may hold any of it any more."""
        if self.free[node] != self.per_node:
            raise ValueError(f"node {node} is in use")
        self.is_up[node], self.free[node] = False, 0

    def recover(self, node: int) -> None:
        """The node is back, empty."""
        self.is_up[node], self.free[node] = True, self.per_node


def best_fit(free: Sequence[int], job: RigidJob, *, per_node: int) -> Place | None:
    """As few nodes as possible, and among equals the fullest ones, so that little is left over."""
    devices = job.worker_devices(per_node)
    num_workers = job.num_devices // devices
    return pick(
        free, job, per_node=per_node, cost=lambda node: (-min(free[node] // devices, num_workers), free[node])
    )


def pick(
    room: Sequence[int], job: RigidJob, *, per_node: int, cost: Callable[[int], tuple[int, ...]]
) -> Place | None:
    """The cheapest nodes on which all workers have room; ties go to the first node. None: they have not."""
    devices = job.worker_devices(per_node)
    possible = [node for node, left in enumerate(room) if left >= devices]
    if devices == job.num_devices:
        return ((min(possible, key=cost), devices),) if possible else None
    place, missing = [], job.num_devices // devices
    for node in sorted(possible, key=cost):
        workers = min(missing, room[node] // devices)
        place.append((node, workers * devices))
        missing -= workers
        if not missing:
            return tuple(place)
    return None
