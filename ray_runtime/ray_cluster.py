"""Everything that the conductor asks of Ray, in threads of its own: the calls block, its loop must not.

Nodes, agents (detached actors found by name) and reservations (detached placement groups found by name).
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import ray
from ray.exceptions import ActorDiedError, RayActorError, RayTaskError
from ray.util.placement_group import PlacementGroup, placement_group

from ray_runtime.agent import Agent
from ray_runtime.messages import StaleEpochError
from ray_runtime.patience import within

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

NAMESPACE = "gangline"
NODE_LABEL = "gangline.node"
_GROUP_PREFIX = "gangline:"
_CREATION_SECONDS = 2  # takes 10 ms; one that still does not stand holds nothing
_AGENT_OPTIONS: Mapping[str, Any] = {
    "namespace": NAMESPACE,
    "lifetime": "detached",
    "get_if_exists": True,
    "num_cpus": 0,
    "max_restarts": -1,
    "max_task_retries": 0,  # calls are repeated by us, who know what a repeat means
    "max_concurrency": 2000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RayNode:
    """One of Ray's nodes that carries our label."""

    name: str
    ray_node_id: str
    address: str
    port: int  # of its raylet: who accepts a connection there is alive
    alive: bool
    labels: Mapping[str, str]
    resources: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What a reservation takes on one node."""

    node: str
    ray_node_id: str
    resources: Mapping[str, float]


class AgentAwayError(Exception):
    """An agent did not answer: it, its node or the way to it is gone.

    `is_final`: Ray will not bring this actor back; it must be created anew.
    """

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class RayCluster:
    """Ray, seen from the conductor's loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="ray")

    async def nodes(self) -> list[RayNode]:
        """The labelled nodes; of several with one name, the living one, else the latest."""
        found: dict[str, RayNode] = {}
        for entry in await self._call(ray.nodes):
            node = _node(entry)
            if node is not None and (node.alive or not _is_alive(found.get(node.name))):
                found[node.name] = node
        return list(found.values())

    async def agent(self, node: str) -> Any:
        """The handle of a node's agent, which is created where it does not exist.

        It is bound to our own label and not to Ray's node id, so that Ray itself brings it back when a node
        of that name rejoins.
        """
        return await self._call(lambda: _ensure_agent(node))

    async def reserve(self, name: str, bundles: Sequence[Bundle], *, timeout: float) -> bool:
        """Have a placement group with one bundle per node stand; False: it does not within the time.

        Repeats are harmless. An impossible group stays pending for ever and raises nothing.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        group = await self._create_group(name, bundles)
        stands = await self._call(partial(group.wait, 1))
        while not stands and loop.time() < deadline:
            await asyncio.sleep(0.2)  # not in the thread: many groups may wait for devices at once
            stands = await self._call(partial(group.wait, 0.01))
        return bool(stands)

    async def _create_group(self, name: str, bundles: Sequence[Bundle]) -> PlacementGroup:
        """Cancelling does not stop the thread: wait for what it makes, or a stopped gang leaves a group."""
        creation = asyncio.ensure_future(self._call(lambda: _ensure_group(name, bundles)))
        try:
            return await asyncio.shield(creation)
        except asyncio.CancelledError:
            await asyncio.wait({creation})
            raise

    async def release(self, name: str) -> None:
        """Remove a reservation if there is one."""
        await self._call(lambda: _remove_group(name))

    async def reservations(self) -> list[str]:
        """The names of all our reservations."""
        return await self._call(_group_names)

    async def _call(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


async def call_agent(handle: Any, method: str, *args: Any, timeout: float, **options: Any) -> Any:
    """One call of an agent's method. Raises `AgentAwayError`, or what the method raised."""
    try:
        reference = getattr(handle, method).remote(*args, **options)
        # Not awaited itself: a cancelled await of a reference would cancel the call in the agent.
        return await within(timeout, asyncio.wrap_future(reference.future()))
    except (RayActorError, TimeoutError) as error:
        is_final = isinstance(error, ActorDiedError)
        raise AgentAwayError(f"{method}: {type(error).__name__}", is_final=is_final) from error
    except RayTaskError as error:
        if isinstance(error, StaleEpochError):
            raise
        # A fault of ours: one attempt must not take the conductor, and with it all others, along.
        logger.exception("the agent failed in %s", method)
        raise AgentAwayError(f"{method}: {error.cause!r}") from error


def _ensure_agent(node: str) -> Any:
    options = {**_AGENT_OPTIONS, "name": f"agent:{node}", "label_selector": {NODE_LABEL: node}}
    return ray.remote(Agent).options(**options).remote(node)


def _ensure_group(name: str, bundles: Sequence[Bundle]) -> PlacementGroup:
    existing = _find_group(name)
    if existing is not None:
        return existing
    created: PlacementGroup = placement_group(
        [dict(bundle.resources) for bundle in bundles],
        name=_GROUP_PREFIX + name,
        lifetime="detached",
        bundle_label_selector=[{"ray.io/node-id": bundle.ray_node_id} for bundle in bundles],
    )
    return created


def _find_group(name: str) -> PlacementGroup | None:
    try:
        found: PlacementGroup = ray.util.get_placement_group(_GROUP_PREFIX + name)
    except ValueError:
        return None
    return found


def _remove_group(name: str) -> None:
    """Never while it is being created: Ray then loses its resources on the nodes for good."""
    group = _find_group(name)
    if group is not None:
        group.wait(_CREATION_SECONDS)
        ray.util.remove_placement_group(group)


def _group_names() -> list[str]:
    table = ray.util.placement_group_table()
    names = [entry["name"] for entry in table.values() if entry["state"] != "REMOVED"]
    return [name.removeprefix(_GROUP_PREFIX) for name in names if name.startswith(_GROUP_PREFIX)]


def _node(entry: Mapping[str, Any]) -> RayNode | None:
    labels = {str(key): str(value) for key, value in (entry.get("Labels") or {}).items()}
    if NODE_LABEL not in labels:
        return None
    return RayNode(
        name=labels[NODE_LABEL],
        ray_node_id=entry["NodeID"],
        address=entry["NodeManagerAddress"],
        port=int(entry["NodeManagerPort"]),
        alive=bool(entry["Alive"]),
        labels=labels,
        resources=entry.get("Resources") or {},
    )


def _is_alive(node: RayNode | None) -> bool:
    return node is not None and node.alive
