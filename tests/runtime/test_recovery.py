"""What breaks, and what must not: conductor, agents, nodes, the head, the portal. Real kills."""

import json
import sys
import time
from functools import partial

import httpx

from ray_runtime.protocol import (
    EPOCH_PATH,
    INVENTORY_PATH,
    ORDERS_PATH,
    REPORTS_PATH,
    EndCause,
    LaunchSpec,
    ReportKind,
)
from tests.runtime.fake_portal import CONDUCTOR_TOKEN, wait_until
from tests.runtime.runtime import ALL_NODES, Runtime

COUNT = "i=0; while [ $i -lt {n} ]; do echo line-$i; i=$((i+1)); sleep 0.02; done"
DAEMON = "setsid sh -c 'setsid sleep 600 & sleep 600' & "


def test_training_does_not_notice_a_killed_conductor(runtime: Runtime) -> None:
    """It comes back, goes on with what runs, takes new orders; nothing is reported twice or not at all."""
    specs = [runtime.run(COUNT.format(n=200), nodes=ALL_NODES) for _ in range(3)]
    epoch = runtime.portal.epoch
    killed_at = time.monotonic()
    runtime.kill_conductor()
    late = runtime.launch("echo late")
    runtime.end_of(late)
    assert runtime.portal.epoch > epoch
    assert runtime.portal.takeovers[-1] - killed_at < 30
    for spec in specs:
        assert runtime.end_of(spec).cause is EndCause.COMPLETED
        assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
        for rank in range(4):
            text = runtime.portal.wait_closed(spec.attempt_id, rank)
            assert text.splitlines() == [f"line-{number}" for number in range(200)]


def test_an_end_while_the_conductor_is_dead_is_still_reported(runtime: Runtime) -> None:
    """The agents keep it until the portal has it."""
    specs = [runtime.run("sleep 0.3; exit 4"), runtime.run("sleep 0.3", nodes=("n2", "n3"))]
    runtime.kill_conductor()
    assert (runtime.end_of(specs[0]).cause, runtime.end_of(specs[0]).exit_code) == (
        EndCause.PROGRAM_FAILED,
        4,
    )
    assert runtime.end_of(specs[1]).cause is EndCause.COMPLETED
    for spec in specs:
        assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]


def test_a_stop_under_way_survives_the_conductor(runtime: Runtime) -> None:
    """Passed on before the kill, finished after it."""
    spec = runtime.run("trap 'sleep 3; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    runtime.wait_text(spec, "up")
    runtime.portal.stop(spec.attempt_id, grace=20.0)
    runtime.portal.wait_for(spec.attempt_id, ReportKind.STOPPING)
    runtime.kill_conductor()
    assert runtime.end_of(spec).cause is EndCause.STOPPED
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "stopping", "ended"]


def test_a_killed_agent_takes_its_ranks_along_and_comes_back(runtime: Runtime) -> None:
    """Also a grandchild in a session of its own; the other node's ranks are stopped; the node lives on."""
    spec = runtime.run(DAEMON + "echo up; sleep 600", nodes=("n1", "n2"))
    wait_until(lambda: len(runtime.alive(spec, node="n2")) >= 4, 15, lambda: runtime.alive(spec))
    runtime.wait_text(spec, "up", rank=1)
    runtime.kill_agent("n2")
    wait_until(lambda: runtime.alive(spec, node="n2") == [], 5, lambda: runtime.alive(spec))
    end = runtime.end_of(spec)
    assert (end.cause, end.node) == (EndCause.AGENT_LOST, "n2")
    assert runtime.alive(spec) == []
    assert runtime.portal.wait_closed(spec.attempt_id, 1) == "up\n"
    assert runtime.end_of(runtime.launch("true", nodes=("n2",) * 4)).cause is EndCause.COMPLETED


def test_ranks_that_had_ended_are_not_lost_with_their_agent(runtime: Runtime) -> None:
    """Their exits are on disk: the gang is complete although one agent died meanwhile."""
    spec = runtime.run("[ $RANK = 0 ] && exit 0; sleep 12", nodes=("n1", "n2"))
    wait_until(lambda: runtime.alive(spec, node="n1") == [], 10, lambda: runtime.alive(spec))
    runtime.kill_agent("n1")
    assert runtime.end_of(spec).cause is EndCause.COMPLETED


def test_a_lost_node_is_named_and_the_survivors_are_stopped(runtime: Runtime) -> None:
    """PC01: everything on n4 dies at once; it comes back under its name and takes new work, nothing of J."""
    spec = runtime.run("i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done", nodes=("n3", "n4"))
    runtime.wait_text(spec, "10\n", rank=1)
    cut_at = time.monotonic()
    runtime.cluster.kill_node("n4", also=runtime.alive(spec, node="n4"))
    end = runtime.end_of(spec)
    assert time.monotonic() - cut_at < 20
    assert (end.cause, end.node, end.exit_code) == (EndCause.NODE_LOST, "n4", None)
    assert runtime.alive(spec) == []
    wait_until(lambda: not runtime.is_alive("n4"), 15, lambda: runtime.node("n4"))
    waiting = runtime.launch("true", nodes=("n3",) * 4)
    assert runtime.end_of(waiting).cause is EndCause.COMPLETED
    runtime.cluster.start_node(4)
    runtime.wait_well()
    assert runtime.alive(spec) == []
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    text = runtime.portal.wait_closed(spec.attempt_id, 1, timeout=30)
    assert text.splitlines()[:10] == [str(number) for number in range(10)]
    assert runtime.end_of(runtime.launch("true", nodes=("n4",) * 4)).cause is EndCause.COMPLETED


def test_a_lost_node_is_the_reason_though_its_peers_fail_first(runtime: Runtime) -> None:
    """As in a collective: the peer's connection breaks at once, the loss is known seconds later."""
    script = runtime.folder / "peers.py"
    script.write_text(
        "import os, socket, sys, time\n"
        "address = ('127.0.1.1', int(os.environ['MASTER_PORT']))\n"
        "if os.environ['RANK'] == '1':\n"
        "    server = socket.create_server(address); peer = server.accept(); time.sleep(600)\n"
        "while True:\n"
        "    try: line = socket.create_connection(address); break\n"
        "    except OSError: time.sleep(0.05)\n"
        "print('connected', flush=True)\n"
        "sys.exit(1 if line.recv(1) == b'' else 0)\n"
    )
    spec = runtime.run(f"exec {sys.executable} {script}", nodes=("n1", "n4"))
    runtime.wait_text(spec, "connected")
    runtime.cluster.kill_node("n4")
    end = runtime.end_of(spec)
    assert (end.cause, end.node) == (EndCause.NODE_LOST, "n4")
    runtime.cluster.start_node(4)
    runtime.wait_well()


def test_an_absent_portal_costs_no_line_and_no_report(runtime: Runtime) -> None:
    """It is away while ranks write and end; everything arrives exactly once when it is back."""
    running = runtime.run(COUNT.format(n=300), nodes=("n1", "n2"))
    ending = runtime.run("echo only; sleep 0.5; exit 5")
    runtime.portal.server.go_down()
    time.sleep(4)
    runtime.portal.server.come_up()
    assert (runtime.end_of(ending).cause, runtime.end_of(ending).exit_code) == (EndCause.PROGRAM_FAILED, 5)
    assert runtime.end_of(running).cause is EndCause.COMPLETED
    for spec in (running, ending):
        assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    for rank in (0, 1):
        text = runtime.portal.wait_closed(running.attempt_id, rank)
        assert text.splitlines() == [f"line-{number}" for number in range(300)]


def test_portal_and_conductor_away_at_once(runtime: Runtime) -> None:
    """Reports that were spooled by the dead conductor are delivered under its own numbers."""
    spec = runtime.run("sleep 0.5; exit 6")
    runtime.portal.server.go_down()
    time.sleep(3)
    runtime.kill_conductor()
    time.sleep(1)
    runtime.portal.server.come_up()
    assert (runtime.end_of(spec).cause, runtime.end_of(spec).exit_code) == (EndCause.PROGRAM_FAILED, 6)
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]


def test_lost_answers_double_nothing(runtime: Runtime) -> None:
    """The portal does the work and the connection is cut before its answer, again and again."""
    specs = []
    for _ in range(4):
        runtime.portal.server.drop_answers = 3
        specs.append(runtime.launch(COUNT.format(n=20)))
        time.sleep(0.2)
    for spec in specs:
        assert runtime.end_of(spec).cause is EndCause.COMPLETED
        assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
        lines = runtime.portal.wait_closed(spec.attempt_id).splitlines()
        assert lines == [f"line-{number}" for number in range(20)]


def test_a_fenced_conductor_leaves_and_a_new_one_takes_over(runtime: Runtime) -> None:
    """A stale epoch is refused by the portal and by the agents; training goes on under the new one."""
    spec = runtime.run(COUNT.format(n=500))
    before = runtime.portal.epoch
    headers = {"Authorization": f"Bearer {CONDUCTOR_TOKEN}"}
    url = runtime.portal.url
    httpx.post(url + EPOCH_PATH, json={"incarnation": "another"}, headers=headers)
    for path, body in (
        (REPORTS_PATH, {"incarnation": "x", "reports": []}),
        (ORDERS_PATH, {"done": []}),
        (INVENTORY_PATH, {}),
    ):
        answer = httpx.post(url + path, content=json.dumps({"epoch": before, **body}), headers=headers)
        assert answer.status_code == 409
    still_there = partial(runtime.cluster.workers, "ray::Conductor", node="head")
    wait_until(lambda: not still_there(), 15, still_there)
    runtime.cluster.ensure_conductor(runtime.portal)
    runtime.wait_well()
    assert runtime.end_of(spec).cause is EndCause.COMPLETED
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]


def test_an_attempt_without_any_trace_is_unknown(runtime: Runtime) -> None:
    """The portal holds it to be live, no agent has ever heard of it: safe to launch again."""
    spec = runtime.launch("true")
    runtime.end_of(spec)
    ghost = LaunchSpec.from_json({**spec.to_json(), "attempt_id": "00000000-0000-4000-8000-00000000beef"})
    runtime.portal.hold_live(ghost)
    runtime.kill_conductor()
    assert runtime.portal.wait_for(ghost.attempt_id, ReportKind.ENDED).cause is EndCause.UNKNOWN


def test_ranks_go_on_while_the_head_is_away(runtime: Runtime) -> None:
    """The head is killed and restarted at its address: conductor and agents come back, nothing is lost."""
    spec = runtime.run(COUNT.format(n=1500), nodes=("n1", "n2"))
    runtime.cluster.kill_node("head")
    time.sleep(2)
    assert len(runtime.alive(spec)) >= 2
    runtime.cluster.start_head()
    back_at = time.monotonic()
    late = runtime.launch("echo late", nodes=("n3",))
    runtime.end_of(late, timeout=60)
    assert time.monotonic() - back_at < 60
    runtime.wait_well()
    assert runtime.end_of(spec, timeout=90).cause is EndCause.COMPLETED
    assert runtime.portal.kinds(spec.attempt_id) == ["forming", "running", "ended"]
    lines = runtime.portal.wait_closed(spec.attempt_id, 1).splitlines()
    assert lines == [f"line-{number}" for number in range(1500)]
