"""A gang's placement group: what it takes on each node, and which node is to blame when it cannot stand."""

from collections.abc import Sequence

from ray_runtime.devices import accelerator_resource
from ray_runtime.protocol import LaunchSpec
from ray_runtime.ray_cluster import Bundle, RayCluster, RayNode

_PROBE_SECONDS = 0.5


class PlacementImpossibleError(Exception):
    """The gang cannot be placed as ordered; `node` says where it failed."""

    def __init__(self, node: str, message: str) -> None:
        super().__init__(message)
        self.node = node


async def reserve(cluster: RayCluster, spec: LaunchSpec, nodes: Sequence[RayNode], *, timeout: float) -> None:
    """Hold the gang's devices on exactly these nodes. Raises `PlacementImpossibleError`."""
    bundles = [bundle_for(spec, node) for node in nodes]
    if await cluster.reserve(spec.attempt_id, bundles, timeout=timeout):
        return
    await cluster.release(spec.attempt_id)
    raise await _blame(cluster, spec, bundles, timeout=timeout)


def bundle_for(spec: LaunchSpec, node: RayNode) -> Bundle:
    """All that the gang takes on one node, as one bundle.

    CPUs never stand in the way of accelerators: a gang takes at most the share of a node's CPUs that goes
    with its share of the accelerators, whatever it asked for.
    """
    num_workers = sum(slot.node == node.name for slot in spec.workers)
    resource = accelerator_resource(node.resources)
    amount = num_workers * spec.accelerators_milli / 1000
    cpus = min(num_workers * spec.cpus_milli / 1000, _cpu_share(node, resource, amount))
    wanted = {resource: amount, "CPU": _whole(cpus)}
    taken = {name: value for name, value in wanted.items() if value > 0}
    # A bundle must not be empty, and each node has one unit of a resource named after its address.
    resources = taken or {f"node:{node.address}": 0.001}
    return Bundle(node=node.name, ray_node_id=node.ray_node_id, resources=resources)


def _cpu_share(node: RayNode, resource: str, amount: float) -> float:
    cpus = float(node.resources.get("CPU", 0))
    total = float(node.resources.get(resource, 0))
    return cpus * amount / total if amount and total else cpus


def _whole(cpus: float) -> float:
    """Ray takes fractions only below one."""
    return float(int(cpus)) if cpus >= 1 else round(cpus, 3)


async def _blame(
    cluster: RayCluster, spec: LaunchSpec, bundles: Sequence[Bundle], *, timeout: float
) -> PlacementImpossibleError:
    """Try node by node: Ray does not say which bundle of a pending group does not fit."""
    for index, bundle in enumerate(bundles):
        name = f"{spec.attempt_id}:probe-{index}"
        fits = await cluster.reserve(name, [bundle], timeout=_PROBE_SECONDS)
        await cluster.release(name)
        if not fits:
            wanted = ", ".join(f"{amount:g} {resource}" for resource, amount in bundle.resources.items())
            message = f"node {bundle.node} could not give {wanted} within {timeout:g} s"
            return PlacementImpossibleError(bundle.node, message)
    nodes = ", ".join(bundle.node for bundle in bundles)
    message = f"the nodes {nodes} could not give their devices at the same time within {timeout:g} s"
    return PlacementImpossibleError(bundles[0].node, message)
