"""One attempt on one node, from its folders to its last byte at the portal. Owned by the agent's loop."""

import asyncio
import logging
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ray_runtime import attempt_files, outputs
from ray_runtime.attempt_client import AttemptClient
from ray_runtime.attempt_table import AttemptTable
from ray_runtime.checkpoint_index import newest_whole
from ray_runtime.code_archive import CodeUnusableError, check_archive, keep_recent, unpack_archive
from ray_runtime.environment import Folders, Rendezvous, rank_argv, rank_environ
from ray_runtime.hosts import HostLink, Nursery
from ray_runtime.messages import HostRecord, HostState, RankExit
from ray_runtime.patience import within
from ray_runtime.portal_http import Backoff, PortalAwayError, PortalRefusedError
from ray_runtime.ports import choose_port
from ray_runtime.protocol import LaunchSpec, StreamKind, WorkerSlot, stream_name
from ray_runtime.shipping import Shipper
from ray_runtime.start import RankPlan
from ray_runtime.task_set import TaskSet

_START_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What the conductor knows of a node and its agent does not."""

    name: str
    address: str
    resource: str  # Ray's name of the accelerators


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the attempts of one agent share."""

    table: AttemptTable
    shipper: Shipper
    nursery: Nursery
    tasks: TaskSet
    code_dir: Path


class HostedAttempt:
    """Prepares, starts, watches, stops and ships one attempt's part on this node."""

    def __init__(
        self,
        spec: LaunchSpec,
        *,
        node: str,
        folders: Folders,
        client: AttemptClient,
        surroundings: Surroundings,
    ) -> None:
        self.spec = spec
        self.folders = folders
        self._slots = [slot for slot in spec.workers if slot.node == node]
        self._client = client
        self._all = surroundings
        self._host: HostLink | None = None
        self._starting = asyncio.Lock()
        self._started = asyncio.Event()
        self._home = asyncio.Event()
        self._preparation: asyncio.Task[None] | None = None

    @property
    def record(self) -> HostRecord:
        """Its present record."""
        record = self._all.table.get(self.spec.attempt_id)
        assert record is not None
        return record

    @property
    def ranks(self) -> tuple[int, ...]:
        """The global ranks on this node."""
        return tuple(sorted(slot.rank for slot in self._slots))

    async def prepare(self, facts: NodeFacts, *, patience: float) -> HostRecord:
        """Make folders, code, port and checkpoint ready; goes on in the background after `patience` s."""
        leads = any(slot.rank == 0 for slot in self._slots)
        port = choose_port(facts.address, taken=set(self._all.table.ports())) if leads else None
        self._put(
            HostRecord(
                attempt_id=self.spec.attempt_id,
                seq=0,
                state=HostState.PREPARING,
                ranks=self.ranks,
                master_port=port,
            )
        )
        self._preparation = self._all.tasks.spawn(self._prepare(leads=leads))
        await asyncio.wait({self._preparation}, timeout=patience)
        return self.record

    async def start(self, facts: NodeFacts, rendezvous: Rendezvous) -> HostRecord:
        """Start the ranks, once: a repeat, or one after a stop, changes nothing."""
        async with self._starting:
            if self.record.state is not HostState.PREPARED:
                return self.record
            plans = [self._plan(slot, facts=facts, rendezvous=rendezvous) for slot in self._slots]
            self._host, swept = await self._all.nursery.open_host()
            self._host.send_plan(plans, exits=self.folders.exits)
            self._all.tasks.spawn(self._follow(self._host, swept))
            await within(_START_SECONDS, self._started.wait())
        return self.record

    async def stop(self, grace_seconds: float, *, ordered: bool) -> HostRecord:
        """SIGTERM now, SIGKILL after the grace. What has not started never will."""
        async with self._starting:
            if self.record.state is HostState.GONE:
                return self.record
            if self._host is not None:
                self._host.send_stop(grace_seconds)
                ordered = ordered or self.record.stop_ordered
                self._put(replace(self.record, state=HostState.STOPPING, stop_ordered=ordered))
                return self.record
            if self._preparation is not None:
                self._preparation.cancel()
            await self._end()
        return self.record

    async def take_over(self) -> None:
        """An earlier agent died over it and nothing is alive: tell its end from disk, ship what is left."""
        exits = await asyncio.to_thread(attempt_files.read_exits, self.folders)
        is_whole = {rank_exit.rank for rank_exit in exits} == set(self.ranks)
        self._put(
            HostRecord(
                attempt_id=self.spec.attempt_id,
                seq=0,
                state=HostState.STOPPING,
                ranks=self.ranks,
                exits=exits,
                lost=not is_whole,
            )
        )
        self._follow_streams(is_new=False)
        await self._end()

    async def remove_when_home(self) -> None:
        """Wait until everything is at the portal, then remove every trace."""
        await self._home.wait()
        await asyncio.to_thread(attempt_files.remove_all, self.folders)

    async def _prepare(self, *, leads: bool) -> None:
        try:
            await asyncio.to_thread(attempt_files.make_folders, self.folders, self.spec)
            await self._fetch_code()
            resume_from = await asyncio.to_thread(_checkpoint, self.spec) if leads else None
        except (OSError, CodeUnusableError, PortalRefusedError) as error:
            self._put(replace(self.record, problem=_sentence(error)))
            await self._end()
            return
        self._follow_streams(is_new=True)
        self._put(replace(self.record, state=HostState.PREPARED, resume_from=resume_from))

    async def _fetch_code(self) -> None:
        """Get the archive once per content; an absent portal is waited for, a damaged archive is not."""
        sha256 = self.spec.code_sha256
        if sha256 is None:
            return
        archive = self._all.code_dir / f"{sha256}.tar.gz"
        backoff = Backoff()
        while not archive.exists():
            try:
                await self._client.fetch_code(archive)
            except PortalAwayError as error:
                logger.warning("code of %s: %s", self.spec.attempt_id, error)
                await asyncio.sleep(backoff.pause())
        try:
            await asyncio.to_thread(check_archive, archive, sha256=sha256)
        except CodeUnusableError:
            archive.unlink(missing_ok=True)
            raise
        await asyncio.to_thread(unpack_archive, archive, self.folders.work)
        await asyncio.to_thread(keep_recent, self._all.code_dir, used=archive)

    def _plan(self, slot: WorkerSlot, *, facts: NodeFacts, rendezvous: Rendezvous) -> RankPlan:
        environ = rank_environ(
            self.spec,
            slot=slot,
            folders=self.folders,
            rendezvous=rendezvous,
            node_address=facts.address,
            resource=facts.resource,
            inherited=os.environ,
        )
        log = self.folders.stream(stream_name(slot.rank, StreamKind.LOG))
        return RankPlan(
            rank=slot.rank,
            argv=rank_argv(self.spec),
            environ=environ,
            folder=str(self.folders.work),
            log=str(log),
        )

    async def _follow(self, host: HostLink, swept: asyncio.Event) -> None:
        is_gone = False
        async for message in host.messages():
            is_gone = is_gone or "gone" in message
            if "started" in message:
                self._put(replace(self.record, state=HostState.RUNNING, started_at_ms=_now_ms()))
                self._started.set()
            if "exit" in message:
                await self._note(RankExit(rank=message["exit"], code=message["code"], at_ms=message["at_ms"]))
        if not is_gone:  # the host itself was killed; the nursery ends what it left
            await swept.wait()
            self._put(replace(self.record, lost=len(self.record.exits) < len(self.ranks)))
        await self._end()
        self._started.set()

    async def _note(self, rank_exit: RankExit) -> None:
        record = self.record
        lines = record.last_lines
        if rank_exit.code != 0 and not lines:
            log = self.folders.stream(stream_name(rank_exit.rank, StreamKind.LOG))
            lines = await asyncio.to_thread(attempt_files.read_last_lines, log)
        self._put(replace(self.record, exits=(*record.exits, rank_exit), last_lines=lines))

    async def _end(self) -> None:
        """No process is left: say so first, since devices wait for it, then bring the rest home."""
        finished = await asyncio.to_thread(attempt_files.said_finished, self.folders, self.ranks)
        self._put(replace(self.record, state=HostState.GONE, finished=finished))
        self._all.tasks.spawn(self._bring_home())

    async def _bring_home(self) -> None:
        try:
            await self._upload_outputs()
        except OSError:
            logger.exception("outputs of %s", self.spec.attempt_id)
        await self._all.shipper.finish(self.spec.attempt_id)
        await asyncio.to_thread(attempt_files.remove_work, self.folders)
        self._home.set()

    async def _upload_outputs(self) -> None:
        """Each file on its own: one that the portal refuses (too large, say) does not cost the others."""
        backoff = Backoff()
        for output in await asyncio.to_thread(outputs.list_outputs, self.folders.output):
            while not await self._upload(output):
                await asyncio.sleep(backoff.pause())

    async def _upload(self, output: outputs.OutputFile) -> bool:
        descriptor = outputs.open_inside(self.folders.output, output.path)
        if descriptor is None:
            return True
        try:
            await self._client.put_output(output, descriptor=descriptor)
        except PortalAwayError as error:
            logger.warning("output %s of %s: %s", output.path, self.spec.attempt_id, error)
            return False
        except PortalRefusedError as refusal:
            await asyncio.to_thread(self._write_note, f"output {output.path} was not stored: {refusal}")
        finally:
            os.close(descriptor)
        return True

    def _write_note(self, text: str) -> None:
        """Tell the user in the log of the first rank here."""
        log = self.folders.stream(stream_name(self.ranks[0], StreamKind.LOG))
        with log.open("a") as file:
            file.write(f"gangline: {text}\n")

    def _follow_streams(self, *, is_new: bool) -> None:
        files = attempt_files.stream_files(self.folders, self.ranks)
        self._all.shipper.add(self.spec.attempt_id, client=self._client, files=files, is_new=is_new)

    def _put(self, record: HostRecord) -> None:
        self._all.table.put(record)


def _checkpoint(spec: LaunchSpec) -> str:
    """The checkpoint to start from: the job's own newest whole one, else the one it was told."""
    directory = Path(spec.checkpoint_dir)
    directory.mkdir(parents=True, exist_ok=True)
    own = newest_whole(directory)
    return str(own) if own is not None else spec.resume_from or ""


def _sentence(error: Exception) -> str:
    if isinstance(error, PortalRefusedError):
        return f"the portal does not hand out the code archive: {error}"
    return str(error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
