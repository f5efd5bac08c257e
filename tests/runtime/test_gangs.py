"""Gangs on a real cluster: from the order to the end report."""

import hashlib
import io
import json
import signal
import sys
import tarfile
import time

from ray_runtime.protocol import EndCause, LaunchSpec, OrderKind, ReportKind, WorkerEvent, WorkerSlot
from tests.runtime.fake_portal import wait_until
from tests.runtime.runtime import ALL_NODES, Runtime
from tests.runtime.test_rank_host import RUNAWAYS

RENDEZVOUS = (
    "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE group $GROUP_RANK at $MASTER_ADDR:$MASTER_PORT"
)


def test_four_ranks_on_four_nodes(runtime: Runtime) -> None:
    """Each knows its place, all know the same rendezvous, and the reports come in order."""
    spec = runtime.launch(RENDEZVOUS, nodes=ALL_NODES)
    end = runtime.end_of(spec)
    assert (end.cause, end.exit_code) == (EndCause.COMPLETED, 0)
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    texts = [runtime.portal.wait_closed(spec.attempt_id, rank) for rank in range(4)]
    assert [text.split(" at ")[0] for text in texts] == [f"{rank}/4 0/1 group {rank}" for rank in range(4)]
    assert len({text.split(" at ")[1] for text in texts}) == 1
    assert f"at {runtime.cluster.address_of('n1')}:" in texts[0]


def test_several_ranks_on_one_node(runtime: Runtime) -> None:
    """Local ranks count per node, group ranks count nodes."""
    spec = runtime.launch(RENDEZVOUS, nodes=("n2", "n2", "n3"))
    runtime.end_of(spec)
    texts = [runtime.portal.wait_closed(spec.attempt_id, rank).split(" at ")[0] for rank in range(3)]
    assert texts == ["0/3 0/2 group 0", "1/3 1/2 group 0", "2/3 0/1 group 1"]


def test_a_failed_rank_ends_the_gang_with_its_last_lines(runtime: Runtime) -> None:
    """The others hang as in a collective; they are gone before the end is told."""
    spec = runtime.run("if [ $RANK = 2 ]; then echo reason >&2; exit 9; fi; sleep 600", nodes=ALL_NODES)
    end = runtime.end_of(spec)
    assert (end.cause, end.exit_code, end.rank, end.node) == (EndCause.PROGRAM_FAILED, 9, 2, "n3")
    assert end.last_lines == ("reason",)
    assert runtime.alive(spec) == []


def test_a_killed_worker_is_a_failure_by_signal(runtime: Runtime) -> None:
    """Kill -9 of one rank from outside."""
    spec = runtime.run("exec sleep 600", nodes=("n1", "n2"))
    (victim,) = runtime.alive(spec, node="n2")
    victim.send_signal(signal.SIGKILL)
    end = runtime.end_of(spec)
    assert (end.cause, end.exit_code, end.rank) == (EndCause.PROGRAM_FAILED, -9, 1)
    assert runtime.alive(spec) == []


def test_a_command_that_is_not_there_is_the_users_to_mend(runtime: Runtime) -> None:
    """Exit code 127 at once, with what the shell said."""
    spec = runtime.launch("no-such-program --flag")
    end = runtime.end_of(spec)
    assert (end.cause, end.exit_code) == (EndCause.START_FAILED, 127)
    assert "no-such-program" in end.last_lines[-1]


def test_a_cancel_ends_the_whole_tree(runtime: Runtime) -> None:
    """PC02 through conductor and agent; a repeated order changes nothing."""
    script = runtime.folder / "runaways.py"
    script.write_text(RUNAWAYS)
    spec = runtime.run(f"exec {sys.executable} {script}")
    wait_until(lambda: len(runtime.alive(spec)) == 4, 10, lambda: runtime.alive(spec))
    runtime.wait_text(spec, "20\n")
    first = runtime.portal.stop(spec.attempt_id, grace=1.0)
    runtime.portal.wait_for(spec.attempt_id, ReportKind.STOPPING)
    second = runtime.portal.stop(spec.attempt_id, grace=60.0)
    end = runtime.end_of(spec)
    assert end.cause is EndCause.STOPPED
    assert runtime.alive(spec) == []
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "stopping", "ended"]
    lines = runtime.portal.wait_closed(spec.attempt_id).splitlines()
    assert lines.count("BYE-1") == 1
    numbers = [int(line) for line in lines if line.isdigit()]
    assert numbers == list(range(len(numbers)))
    wait_until(lambda: runtime.portal.is_done(first) and runtime.portal.is_done(second), 10, lambda: end)


def test_a_program_that_finished_while_it_was_stopped_is_complete(runtime: Runtime) -> None:
    """It said so in its events, and left with 0."""
    event = json.dumps({"kind": WorkerEvent.FINISHED, "step": 3, "at_ms": 0})
    (runtime.folder / "finished").write_text(event + "\n")
    leave = f"cat {runtime.folder}/finished >> $GANGLINE_EVENTS_FILE; exit 0"
    spec = runtime.run(f"trap '{leave}' TERM; echo up; while :; do sleep 0.05; done")
    runtime.wait_text(spec, "up")
    runtime.portal.stop(spec.attempt_id)
    end = runtime.end_of(spec)
    assert (end.cause, end.finished) == (EndCause.COMPLETED, True)
    assert event in runtime.portal.text(spec.attempt_id, kind="events")


def test_a_stop_right_after_the_launch(runtime: Runtime) -> None:
    """Wherever it catches the gang, it ends stopped and leaves neither a process nor a reservation."""
    specs = []
    for delay in (0.0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08) * 2:
        spec = runtime.launch("sleep 600", nodes=ALL_NODES)
        time.sleep(delay)
        runtime.portal.stop(spec.attempt_id, grace=5.0)
        specs.append(spec)
    for spec in specs:
        assert runtime.end_of(spec).cause is EndCause.STOPPED
        assert runtime.alive(spec) == []
    everything = runtime.launch("true", nodes=ALL_NODES * 4)
    assert runtime.end_of(everything).cause is EndCause.COMPLETED  # no slot has been lost


def test_a_repeated_launch_order_is_harmless(runtime: Runtime) -> None:
    """While it runs and after it has ended: one start, one end, every order acknowledged."""
    marks = runtime.folder / "starts"
    spec = runtime.run(f"echo start >> {marks}; sleep 1")
    repeats = [runtime.portal.order(OrderKind.LAUNCH, spec.attempt_id, spec.to_json())]
    runtime.end_of(spec)
    repeats.append(runtime.portal.order(OrderKind.LAUNCH, spec.attempt_id, spec.to_json()))
    wait_until(lambda: all(map(runtime.portal.is_done, repeats)), 10, lambda: repeats)
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    assert marks.read_text() == "start\n"


def test_a_stop_for_an_unknown_attempt_is_answered(runtime: Runtime) -> None:
    """The portal must not wait for ever for an attempt that nobody has."""
    order = runtime.portal.stop("00000000-dead-4000-8000-000000000000")
    end = runtime.portal.wait_for("00000000-dead-4000-8000-000000000000", ReportKind.ENDED)
    assert end.cause is EndCause.UNKNOWN
    wait_until(lambda: runtime.portal.is_done(order), 10, lambda: order)


def test_an_impossible_placement_names_the_node(runtime: Runtime) -> None:
    """n2 has four slots and two of them are taken: the group can never stand."""
    holder = runtime.run("sleep 600", nodes=("n2", "n2"))
    spec = runtime.launch("true", nodes=("n1", "n2", "n2", "n2"))
    end = runtime.end_of(spec)
    assert (end.cause, end.node) == (EndCause.PLACEMENT_FAILED, "n2")
    assert "n2 could not give 3 slot" in end.message
    assert runtime.portal.kinds(spec.attempt_id) == ["ended"]
    runtime.portal.stop(holder.attempt_id, grace=0.0)
    runtime.end_of(holder)
    assert runtime.end_of(runtime.launch("true", nodes=("n2",) * 4)).cause is EndCause.COMPLETED


def test_a_node_that_does_not_exist(runtime: Runtime) -> None:
    """Reported like any other placement that cannot be."""
    end = runtime.end_of(runtime.launch("true", nodes=("n1", "n99")))
    assert (end.cause, end.node) == (EndCause.PLACEMENT_FAILED, "n99")


def test_code_is_unpacked_and_outputs_come_back(runtime: Runtime) -> None:
    """Names in any script; a link in the outputs is not followed."""
    archive = _archive({"代码/训练.py": "print('你好')"})
    command = "python 代码/训练.py && cd $GANGLINE_OUTPUT_DIR && echo 1 > 结果.txt && ln -s /etc/passwd x"
    spec = _with_code(runtime, command, archive)
    assert runtime.end_of(spec).cause is EndCause.COMPLETED
    assert runtime.portal.wait_closed(spec.attempt_id) == "你好\n"
    mine = {
        path: body
        for (attempt_id, path), body in runtime.portal.outputs.items()
        if attempt_id == spec.attempt_id
    }
    assert mine == {"结果.txt": b"1\n"}


def test_a_wrong_code_archive_is_a_failed_start(runtime: Runtime) -> None:
    """Another content than the order names is never run."""
    spec = _with_code(runtime, "echo ran", _archive({"a": "b"}), sha256="0" * 64)
    end = runtime.end_of(spec)
    assert end.cause is EndCause.START_FAILED
    assert "hash" in end.message
    assert runtime.portal.text(spec.attempt_id) == ""


def test_only_the_ranks_own_variables_arrive(runtime: Runtime) -> None:
    """Nothing of Ray's, no token; the user's variables do, but cannot displace the platform's."""
    spec = runtime.launch("env", variables={"MY_SETTING": "1", "RANK": "77"}, checkpoint_every="10 steps")
    runtime.end_of(spec)
    seen = dict(
        line.split("=", 1) for line in runtime.portal.wait_closed(spec.attempt_id).splitlines() if "=" in line
    )
    assert (seen["MY_SETTING"], seen["RANK"], seen["GANGLINE_CHECKPOINT_EVERY"]) == ("1", "0", "10 steps")
    assert not [name for name in seen if name.startswith("RAY_")]
    assert spec.token not in seen.values()
    assert not [name for name in seen if "TOKEN" in name or "SECRET" in name]


def test_the_heartbeat_tells_nodes_and_gangs(runtime: Runtime) -> None:
    """Names, slots, address, metrics; and each attempt's gang state."""
    spec = runtime.run("sleep 600")
    wait_until(
        lambda: (
            runtime.portal.inventory is not None
            and runtime.portal.inventory.attempts.get(spec.attempt_id) == "running"
        ),
        10,
        lambda: runtime.portal.inventory,
    )
    node = runtime.node("n1")
    assert node is not None
    address = runtime.cluster.address_of("n1")
    assert (node.num_accelerators, node.cpus_milli, node.address) == (4, 4000, address)
    assert node.labels["gangline.zone"] == "z1"
    assert node.metrics["memory_total_bytes"] > 0
    runtime.portal.stop(spec.attempt_id, grace=0.0)
    runtime.end_of(spec)


def test_fractions_of_a_slot_share_a_node(runtime: Runtime) -> None:
    """Two halves of one device; nothing at all still finds a place."""
    halves = [runtime.run("sleep 600", accelerators_milli=500) for _ in range(2)]
    none = runtime.run("sleep 600", accelerators_milli=0)
    for spec in (*halves, none):
        runtime.portal.stop(spec.attempt_id, grace=0.0)
    for spec in (*halves, none):
        assert runtime.end_of(spec).cause is EndCause.STOPPED


def test_ranks_form_a_gloo_group(runtime: Runtime) -> None:
    """The rendezvous is real: an all-reduce over four nodes."""
    script = runtime.folder / "reduce.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "total = torch.tensor([float(os.environ['RANK'])]); dist.all_reduce(total); print(total.item())\n"
        "dist.destroy_process_group()\n"
    )
    spec = runtime.launch(f"python {script}", nodes=ALL_NODES)
    end = runtime.end_of(spec, timeout=90)
    assert end.cause is EndCause.COMPLETED, end.last_lines
    assert runtime.portal.wait_closed(spec.attempt_id, 3) == "6.0\n"


def _archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _with_code(runtime: Runtime, command: str, archive: bytes, *, sha256: str = "") -> LaunchSpec:
    from tests.runtime.specs import a_spec

    spec = a_spec(
        command,
        nodes=["n1"],
        checkpoints=runtime.folder,
        code_sha256=sha256 or hashlib.sha256(archive).hexdigest(),
    )
    runtime.portal.archives[spec.attempt_id] = archive
    runtime.portal.launch(spec)
    return spec


def test_devices_and_workers_follow_the_order(runtime: Runtime) -> None:
    """The device indices that the engine chose are what each rank is given."""
    workers = (WorkerSlot(rank=0, node="n1", devices=(2,)), WorkerSlot(rank=1, node="n1", devices=(0,)))
    spec = runtime.launch("echo $GANGLINE_ACCELERATORS", nodes=("n1", "n1"), workers=workers)
    runtime.end_of(spec)
    assert [runtime.portal.wait_closed(spec.attempt_id, rank) for rank in (0, 1)] == ["2\n", "0\n"]
