"""An agent in this process, without Ray: the conductor's calls, real ranks, a portal over HTTP."""

import asyncio
import hashlib
import io
import json
import os
import signal
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ray_runtime.agent import Agent
from ray_runtime.messages import HostRecord, HostState, PollAnswer, StaleEpochError
from ray_runtime.protocol import LaunchSpec, WorkerEvent
from tests.runtime.fake_portal import FakePortal
from tests.runtime.patience import until
from tests.runtime.specs import a_spec

FACTS = {"address": "127.0.1.3", "resource": "slot"}
RENDEZVOUS = {"address": "127.0.1.3", "port": 1, "resume_from": ""}


class Caller:
    """Speaks to one agent as a conductor does."""

    def __init__(self, agent: Agent, portal: FakePortal) -> None:
        self.agent = agent
        self.epoch = 1
        self._portal = portal

    async def poll(self, *, incarnation: str = "", seq: int = 0, wait: float = 0.0) -> PollAnswer:
        """What has changed."""
        data = await self.agent.poll(
            self.epoch, incarnation=incarnation, seq=seq, wait=wait, portal_url=self._portal.url
        )
        return PollAnswer.from_json(data)

    async def record(self, spec: LaunchSpec) -> HostRecord | None:
        """The agent's record of an attempt."""
        records = (await self.poll()).records
        return next((record for record in records if record.attempt_id == spec.attempt_id), None)

    async def prepare(self, spec: LaunchSpec) -> HostRecord:
        """First half of a start."""
        return HostRecord.from_json(await self.agent.prepare(self.epoch, spec.to_json(), **FACTS))

    async def start(self, spec: LaunchSpec) -> HostRecord:
        """Both halves."""
        await self.prepare(spec)
        data = await self.agent.start(self.epoch, spec.attempt_id, rendezvous=RENDEZVOUS, **FACTS)
        return HostRecord.from_json(data)

    async def stop(self, spec: LaunchSpec, grace: float = 5.0) -> HostRecord:
        """A stop order."""
        data = await self.agent.stop(self.epoch, spec.attempt_id, grace_seconds=grace, ordered=True)
        return HostRecord.from_json(data)

    async def until_gone(self, spec: LaunchSpec) -> HostRecord:
        """Wait until nothing of it is alive."""
        async with asyncio.timeout(20):
            while True:
                record = await self.record(spec)
                if record is not None and record.state is HostState.GONE:
                    return record
                await asyncio.sleep(0.01)


Hire = Callable[[], Any]


@pytest.fixture
async def hire(portal: FakePortal, work_dir: Path) -> AsyncIterator[Hire]:
    """Starts agents of one node, one after the other has died."""
    agents: list[Agent] = []

    async def start() -> Caller:
        agent = object.__new__(Agent)
        await agent.__init__("n1")  # type: ignore[misc]  # as Ray does with an actor's constructor
        agents.append(agent)
        caller = Caller(agent, portal)
        await caller.poll()
        return caller

    yield start
    for agent in agents:
        await agent.close()


def spec_of(command: str, tmp_path: Path, **changes: Any) -> LaunchSpec:
    """One rank on n1."""
    return a_spec(command, nodes=["n1"], checkpoints=tmp_path, **changes)


async def test_an_attempt_from_start_to_the_portal(hire: Hire, portal: FakePortal, tmp_path: Path) -> None:
    """Prepared, running, gone; the log is whole and closed; forgotten, it leaves no file."""
    caller = await hire()
    spec = spec_of("echo hello; exit 3", tmp_path)
    assert (await caller.prepare(spec)).state is HostState.PREPARED
    assert (await caller.start(spec)).started_at_ms is not None
    record = await caller.until_gone(spec)
    assert [(rank_exit.rank, rank_exit.code) for rank_exit in record.exits] == [(0, 3)]
    assert record.last_lines == ("hello",)
    await until(lambda: (spec.attempt_id, "rank-0.log") in portal.closed)
    assert portal.text(spec.attempt_id) == "hello\n"
    await caller.agent.forget(1, [spec.attempt_id])
    assert await caller.record(spec) is None
    folder = tmp_path / "work" / "n1" / "attempts" / spec.attempt_id
    await until(lambda: not folder.exists())


async def test_repeats_change_nothing(hire: Hire, tmp_path: Path) -> None:
    """Preparing and starting twice runs it once."""
    caller = await hire()
    spec = spec_of(f"echo x >> {tmp_path}/runs; sleep 0.2", tmp_path)
    first = await caller.start(spec)
    second = await caller.start(spec)
    assert (first.master_port, first.started_at_ms) == (second.master_port, second.started_at_ms)
    await caller.until_gone(spec)
    await caller.start(spec)
    assert (tmp_path / "runs").read_text() == "x\n"


async def test_what_is_stopped_first_never_starts(hire: Hire, tmp_path: Path) -> None:
    """Between prepare and start, and before either."""
    caller = await hire()
    prepared, unknown = spec_of("echo x", tmp_path), spec_of("echo x", tmp_path)
    await caller.prepare(prepared)
    assert (await caller.stop(prepared)).state is HostState.GONE
    assert (await caller.start(prepared)).started_at_ms is None
    assert (await caller.stop(unknown)).state is HostState.GONE
    assert (await caller.start(unknown)).started_at_ms is None


async def test_only_changes_are_told(hire: Hire, tmp_path: Path) -> None:
    """A poll waits for one; to a stranger the whole table is new at once."""
    caller = await hire()
    spec = spec_of("sleep 600", tmp_path)
    await caller.start(spec)
    known = await caller.poll()
    assert len(known.records) == 1
    waiting = asyncio.create_task(caller.poll(incarnation=known.incarnation, seq=known.seq, wait=10.0))
    await asyncio.sleep(0)
    await caller.stop(spec, grace=0.0)
    news = await asyncio.wait_for(waiting, 5)
    assert news.seq > known.seq
    assert news.records[0].stop_ordered
    stranger = await caller.poll(incarnation="another", seq=10_000, wait=60.0)
    assert len(stranger.records) == 1
    await caller.until_gone(spec)


async def test_an_older_epoch_is_refused_for_good(hire: Hire, tmp_path: Path) -> None:
    """Also by the agent's successor."""
    caller = await hire()
    caller.epoch = 7
    await caller.poll()
    caller.epoch = 6
    for call in (caller.poll(), caller.prepare(spec_of("true", tmp_path))):
        with pytest.raises(StaleEpochError):
            await call
    await caller.agent.close()
    with pytest.raises(StaleEpochError):
        await hire()


async def test_a_successor_tells_how_it_ended(hire: Hire, portal: FakePortal, tmp_path: Path) -> None:
    """One had ended by itself, one was killed with the agent; both logs arrive whole, exactly once."""
    caller = await hire()
    ended, killed = spec_of("echo a; exit 4", tmp_path), spec_of("echo b; sleep 600", tmp_path)
    await caller.start(ended)
    await caller.start(killed)
    await caller.until_gone(ended)
    await until(lambda: "b\n" in portal.text(killed.attempt_id))
    await caller.agent.close()
    successor = await hire()
    of_ended, of_killed = await successor.record(ended), await successor.record(killed)
    assert of_ended is not None and [rank_exit.code for rank_exit in of_ended.exits] == [4]
    assert not of_ended.lost
    assert of_killed is not None and of_killed.lost and of_killed.state is HostState.GONE
    logs = {(spec.attempt_id, "rank-0.log") for spec in (ended, killed)}
    await until(lambda: logs <= portal.closed)
    assert (portal.text(ended.attempt_id), portal.text(killed.attempt_id)) == ("a\n", "b\n")


async def test_code_waits_for_an_absent_portal(hire: Hire, portal: FakePortal, tmp_path: Path) -> None:
    """An outage is no failure; when it is over the attempt goes on."""
    caller = await hire()
    archive = _archive({"main.sh": "echo from code"})
    spec = spec_of("sh main.sh", tmp_path, code_sha256=hashlib.sha256(archive).hexdigest())
    portal.archives[spec.attempt_id] = archive
    portal.server.go_down()
    assert (await caller.prepare(spec)).state is HostState.PREPARING
    portal.server.come_up()
    async with asyncio.timeout(20):
        while (record := await caller.record(spec)) is None or record.state is HostState.PREPARING:
            await asyncio.sleep(0.01)
    assert record.state is HostState.PREPARED
    await caller.start(spec)
    await until(lambda: portal.text(spec.attempt_id) == "from code\n")


async def test_code_that_is_not_there_is_told(hire: Hire, tmp_path: Path) -> None:
    """The portal does not have it: waiting would not help."""
    caller = await hire()
    record = await caller.prepare(spec_of("true", tmp_path, code_sha256="0" * 64))
    assert record.state is HostState.GONE
    assert "code archive" in record.problem


async def test_the_newest_whole_checkpoint_is_found(hire: Hire, tmp_path: Path) -> None:
    """By the lead's node, before anything starts; without one, the one that the order names."""
    caller = await hire()
    told = spec_of("true", tmp_path, resume_from="/elsewhere/step-00000007")
    assert (await caller.prepare(told)).resume_from == "/elsewhere/step-00000007"
    folder = tmp_path / "job" / "step-00000003"
    folder.mkdir(parents=True)
    manifest = {"version": 1, "step": 3, "world_size": 1, "files": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    own = spec_of("true", tmp_path, resume_from="/elsewhere/step-00000007")
    assert (await caller.prepare(own)).resume_from == str(folder)


async def test_what_a_rank_said_last_is_known_with_its_end(hire: Hire, tmp_path: Path) -> None:
    """That it finished is in its events, which may be long."""
    caller = await hire()
    line = json.dumps({"kind": WorkerEvent.FINISHED, "step": 1, "at_ms": 1})
    (tmp_path / "line").write_text("{}\n" * 1000 + line + "\n")
    spec = spec_of(f"cat {tmp_path}/line >> $GANGLINE_EVENTS_FILE", tmp_path)
    await caller.start(spec)
    assert (await caller.until_gone(spec)).finished


async def test_a_big_log_arrives_whole_while_it_is_written(
    hire: Hire, portal: FakePortal, tmp_path: Path
) -> None:
    """20 MB with the portal away for a while; byte for byte, and its disk is given back."""
    caller = await hire()
    portal.server.drop_answers = 2
    spec = spec_of("seq 1 2500000; sleep 1.5", tmp_path)
    await caller.start(spec)
    await until(lambda: len(portal.text(spec.attempt_id)) > 1 << 20)
    portal.server.go_down()
    await asyncio.sleep(0.5)
    portal.server.come_up()
    await until(lambda: (spec.attempt_id, "rank-0.log") in portal.closed, timeout=60)
    text = bytes(portal.streams[spec.attempt_id, "rank-0.log"])
    assert text == b"".join(b"%d\n" % number for number in range(1, 2500001))
    log = tmp_path / "work" / "n1" / "attempts" / spec.attempt_id / "rank-0.log"
    status = log.stat()
    assert status.st_blocks * 512 < status.st_size - (1 << 20)


async def test_outputs_are_uploaded_and_one_too_large_is_told(
    hire: Hire, portal: FakePortal, tmp_path: Path
) -> None:
    """The others arrive; the user reads of it in the log."""
    portal.refused_outputs = {"big.bin"}
    caller = await hire()
    command = "cd $GANGLINE_OUTPUT_DIR; mkdir a; echo 1 > a/b.txt; echo 2 > big.bin; mkfifo pipe"
    spec = spec_of(command, tmp_path)
    await caller.start(spec)
    await until(lambda: (spec.attempt_id, "rank-0.log") in portal.closed)
    assert portal.outputs == {(spec.attempt_id, "a/b.txt"): b"1\n"}
    assert "big.bin was not stored" in portal.text(spec.attempt_id)


async def test_an_id_that_would_leave_the_folder_is_refused(hire: Hire, tmp_path: Path) -> None:
    """Ids come over the wire."""
    caller = await hire()
    with pytest.raises(ValueError, match="cannot be an attempt"):
        await caller.prepare(spec_of("true", tmp_path, attempt_id="../../evil"))


async def test_a_rank_that_outlived_its_agent_is_swept(hire: Hire, tmp_path: Path) -> None:
    """Neither namespace nor sub-reaper held it: the successor finds it by its environment."""
    caller = await hire()
    spec = spec_of("sleep 600", tmp_path)
    await caller.start(spec)
    output = tmp_path / "work" / "n1" / "attempts" / spec.attempt_id / "output"
    stray = await asyncio.create_subprocess_exec(
        "sleep", "600", env={**os.environ, "GANGLINE_OUTPUT_DIR": str(output)}, start_new_session=True
    )
    await caller.agent.close()
    await hire()
    assert await asyncio.wait_for(stray.wait(), 5) == -signal.SIGKILL


def _archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()
