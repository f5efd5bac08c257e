"""The agent: one detached actor per node that owns all worker processes there. It knows nothing of Ray.

Its calls take and return JSON values (`messages`). It obeys the highest epoch it has ever seen; its rank
hosts die with it, and it says so when it is back.
"""

import asyncio
import logging
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from ray_runtime import attempt_files, node_metrics, process_tree
from ray_runtime.actor_log import set_up_log
from ray_runtime.attempt_client import AttemptClient
from ray_runtime.attempt_table import AttemptTable
from ray_runtime.environment import Folders, Rendezvous
from ray_runtime.hosted_attempt import HostedAttempt, NodeFacts, Surroundings
from ray_runtime.hosts import Nursery
from ray_runtime.messages import HostRecord, HostState, StaleEpochError
from ray_runtime.portal_http import portal_client
from ray_runtime.protocol import LaunchSpec
from ray_runtime.shipping import Shipper
from ray_runtime.task_set import TaskSet, leave
from ray_runtime.work_dir import private_folder
from ray_runtime.work_dir import work_dir as default_work_dir

_METRICS_SECONDS = 5.0
_PREPARE_PATIENCE_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Agent:
    """All attempts on one node. `node` is its stable name, `work_dir` the folder for all agents here."""

    async def __init__(  # type: ignore[misc]  # Ray awaits an actor's constructor
        self, node: str, work_dir: str | None = None, *, force_subreaper: bool = False
    ) -> None:
        set_up_log()
        self._node = node
        self._root = private_folder((Path(work_dir) if work_dir else default_work_dir()) / node)
        self._epoch = await asyncio.to_thread(_read_epoch, self._root)
        self._attempts: dict[str, HostedAttempt] = {}
        self._table = AttemptTable()
        self._tasks = TaskSet()
        self._metrics: dict[str, float] = {}
        self._client: httpx.AsyncClient = portal_client(_read_text(self._root / "portal"))
        self._surroundings = Surroundings(
            table=self._table,
            shipper=Shipper(),
            nursery=await Nursery.start(on_death=leave, force_subreaper=force_subreaper),
            tasks=self._tasks,
            code_dir=private_folder(self._root / "code"),
        )
        await self._take_over_left_attempts()
        self._tasks.spawn(self._surroundings.shipper.run())
        self._tasks.spawn(self._sample_metrics())

    async def poll(
        self, epoch: int, *, incarnation: str, seq: int, wait: float, portal_url: str
    ) -> dict[str, Any]:
        """What has changed since (incarnation, seq): a `PollAnswer`. Also how agents learn of a conductor."""
        self._obey(epoch)
        await self._use_portal(portal_url)
        answer = await self._table.changes(incarnation=incarnation, seq=seq, wait=wait)
        return replace(answer, metrics=self._metrics).to_json()

    async def prepare(
        self, epoch: int, spec: Mapping[str, Any], *, address: str, resource: str
    ) -> dict[str, Any]:
        """Make an attempt ready to start: a `HostRecord`, maybe still `preparing`. Repeats are harmless."""
        self._obey(epoch)
        launch = LaunchSpec.from_json(spec)
        record = self._table.get(launch.attempt_id)
        if record is None:
            attempt = self._add(launch)
            facts = NodeFacts(name=self._node, address=address, resource=resource)
            record = await attempt.prepare(facts, patience=_PREPARE_PATIENCE_SECONDS)
        return record.to_json()

    async def start(
        self, epoch: int, attempt_id: str, *, address: str, resource: str, rendezvous: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Start the ranks of a prepared attempt: a `HostRecord`. Repeats are harmless."""
        self._obey(epoch)
        facts = NodeFacts(name=self._node, address=address, resource=resource)
        attempt = self._attempts.get(attempt_id)
        if attempt is None:  # prepared by an agent whose disk is gone as well
            lost = HostRecord(attempt_id=attempt_id, seq=0, state=HostState.GONE, lost=True)
            return self._table.put(lost).to_json()
        return (await attempt.start(facts, Rendezvous(**rendezvous))).to_json()

    async def stop(
        self, epoch: int, attempt_id: str, *, grace_seconds: float, ordered: bool = False
    ) -> dict[str, Any]:
        """Stop an attempt: a `HostRecord`. One that is not known here is gone, and stays so.

        `ordered`: the portal wants it, not the gang's failure; noted for a conductor that is rebuilt later.
        """
        self._obey(epoch)
        attempt = self._attempts.get(attempt_id)
        if attempt is not None:
            return (await attempt.stop(grace_seconds, ordered=ordered)).to_json()
        gone = HostRecord(attempt_id=attempt_id, seq=0, state=HostState.GONE)
        return self._table.put(gone).to_json()

    async def forget(self, epoch: int, attempt_ids: list[str]) -> None:
        """The portal knows their end: drop the records, and the files as soon as they are shipped."""
        self._obey(epoch)
        for attempt_id in attempt_ids:
            record = self._table.get(attempt_id)
            if record is None or record.state is not HostState.GONE:
                continue
            self._table.remove(attempt_id)
            attempt = self._attempts.pop(attempt_id, None)
            if attempt is not None:
                self._tasks.spawn(attempt.remove_when_home())

    async def close(self) -> None:
        """Die: every process that it owns dies with it. Tests; Ray just kills the process."""
        await self._tasks.cancel()
        self._surroundings.nursery.close()

    def _obey(self, epoch: int) -> None:
        """Refuse a conductor that another one has replaced; remember the newest over restarts."""
        if epoch < self._epoch:
            raise StaleEpochError(f"epoch {epoch} is over, {self._epoch} is in charge")
        if epoch > self._epoch:
            self._epoch = epoch
            attempt_files.write_atomically(self._root / "epoch", str(epoch))

    async def _use_portal(self, url: str) -> None:
        if str(self._client.base_url).rstrip("/") == url.rstrip("/"):
            return
        self._client.base_url = url
        await asyncio.to_thread(attempt_files.write_atomically, self._root / "portal", url)

    def _add(self, spec: LaunchSpec) -> HostedAttempt:
        if not attempt_files.is_safe_id(spec.attempt_id):
            raise ValueError(f"{spec.attempt_id!r} cannot be an attempt's id")
        attempt = HostedAttempt(
            spec,
            node=self._node,
            folders=Folders(root=self._root / "attempts" / spec.attempt_id),
            client=AttemptClient(self._client, attempt_id=spec.attempt_id, token=spec.token),
            surroundings=self._surroundings,
        )
        self._attempts[spec.attempt_id] = attempt
        return attempt

    async def _take_over_left_attempts(self) -> None:
        left = await asyncio.to_thread(lambda: list(attempt_files.left_attempts(self._root / "attempts")))
        await asyncio.to_thread(_sweep, [folders for folders, _spec in left])
        for _folders, spec in left:
            await self._add(spec).take_over()

    async def _sample_metrics(self) -> None:
        while True:
            self._metrics = await asyncio.to_thread(node_metrics.sample, str(self._root))
            await asyncio.sleep(_METRICS_SECONDS)


def _sweep(left: list[Folders]) -> None:
    """End what an earlier agent could not: only possible where neither namespace nor sub-reaper held."""
    outputs = [str(folders.output) for folders in left]
    while outputs and (found := process_tree.with_variable("GANGLINE_OUTPUT_DIR", outputs)):
        logger.warning("processes of an earlier agent are still here: %s", found)
        for pid in found:
            process_tree.kill(pid, signal.SIGKILL)


def _read_epoch(root: Path) -> int:
    return int(_read_text(root / "epoch") or 0)


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
