"""The cluster's side over HTTP: tokens, every path of the protocol, and bad bodies."""

import json
from hashlib import sha256
from typing import Any

import pytest
from django.conf import settings

from artifacts.models import Output
from cluster.models import Conductor, Node
from eventlog.models import Command
from jobs.models import Attempt, Job
from ray_runtime import protocol
from ray_runtime.protocol import EndCause, LaunchSpec, Order, Report, ReportKind, attempt_token
from tests.api.faces import Face, runtime
from tests.api.test_jobs import archive
from tests.jobs.builders import INCARNATION, fresh, inventory


def conductor(method: str, path: str, body: object = None, **options: Any) -> Any:
    """A call with the conductor's token."""
    return runtime(method, path, token=settings.ENV.conductor_token, body=body, **options)


def token_of(attempt: Attempt) -> str:
    """The attempt's own."""
    return attempt_token(settings.ENV.secret_key, str(attempt.id))


def stream_path(attempt: Attempt, name: str = "rank-0.log") -> str:
    """Where a stream goes."""
    return protocol.STREAM_PATH.format(attempt_id=attempt.id, name=name)


def report(seq: int, attempt: Attempt, kind: ReportKind, **told: Any) -> dict[str, Any]:
    """A report as it crosses."""
    return Report(
        seq=seq, kind=kind, job_id=str(attempt.job_id), attempt_id=str(attempt.id), at_ms=0, **told
    ).to_json()


def test_a_whole_life_over_the_wire(face: Face) -> None:
    """Take over, order, running, log, ended, acknowledged."""
    job = face.world.submit()
    attempt = face.world.place(job)
    taken = conductor("POST", protocol.EPOCH_PATH, {"incarnation": "c2"}).json()
    assert [LaunchSpec.from_json(one).attempt_id for one in taken["attempts"]] == [str(attempt.id)]
    epoch = taken["epoch"]
    (sent,) = conductor("GET", protocol.ORDERS_PATH, epoch=epoch, wait=0).json()["orders"]
    order = Order.from_json(sent)
    launch = LaunchSpec.from_json(order.payload)
    assert launch.token == token_of(attempt)
    done = conductor("POST", protocol.ORDERS_PATH, {"epoch": epoch, "done": [order.id]})
    assert done.json() == {"closed": 1}
    reports = [report(1, attempt, ReportKind.RUNNING)]
    sent_reports = {"epoch": epoch, "incarnation": "c2", "reports": reports}
    assert conductor("POST", protocol.REPORTS_PATH, sent_reports).json() == {"acked": 1}
    assert fresh(job).state == "running"
    body = b"hello\n"
    answer = runtime("POST", stream_path(attempt), token=launch.token, raw=body, offset=0, final="true")
    assert answer.json() == {"size": 6}
    sent_reports["reports"] = [report(2, attempt, ReportKind.ENDED, cause=EndCause.COMPLETED, exit_code=0)]
    assert conductor("POST", protocol.REPORTS_PATH, sent_reports).json() == {"acked": 2}
    assert fresh(job).state == "succeeded"
    assert face.get(f"jobs/{job.id}/logs").json()["text"] == "hello\n"


CONDUCTORS = [
    ("POST", protocol.EPOCH_PATH),
    ("GET", protocol.ORDERS_PATH),
    ("POST", protocol.ORDERS_PATH),
    ("POST", protocol.REPORTS_PATH),
    ("POST", protocol.INVENTORY_PATH),
]


@pytest.mark.parametrize(("method", "path"), CONDUCTORS)
@pytest.mark.parametrize("token", ["", "wrong", "glt_x", "\u00ff"])
def test_the_conductors_paths_take_its_token_only(face: Face, method: str, path: str, token: str) -> None:
    """Not a user's, not an attempt's."""
    _job, attempt = face.world.running()
    for given in (token, token_of(attempt)):
        assert runtime(method, path, token=given, body={}).status_code == 401


def test_an_attempts_paths_take_its_own_token_only(face: Face) -> None:
    """Not the conductor's, not another attempt's."""
    _job, attempt = face.world.running()
    _other, second = face.world.running(node="n2")
    for token in (settings.ENV.conductor_token, token_of(second), ""):
        assert runtime("POST", stream_path(attempt), token=token, raw=b"x", offset=0).status_code == 401
        path = protocol.OUTPUT_PATH.format(attempt_id=attempt.id)
        assert runtime("PUT", path, token=token, raw=b"x", path="x", sha256="x").status_code == 401
        path = protocol.CODE_PATH.format(attempt_id=attempt.id)
        assert runtime("GET", path, token=token).status_code == 401


def test_a_valid_token_of_an_attempt_that_is_not_there_is_404(face: Face) -> None:
    """Its record was never written."""
    attempt_id = "00000000-0000-0000-0000-000000000007"
    token = attempt_token(settings.ENV.secret_key, attempt_id)
    path = protocol.CODE_PATH.format(attempt_id=attempt_id)
    assert runtime("GET", path, token=token).status_code == 404


def test_a_gap_in_a_stream_answers_with_the_size(face: Face) -> None:
    """At the top of the body, where the agent looks."""
    _job, attempt = face.world.running()
    runtime("POST", stream_path(attempt), token=token_of(attempt), raw=b"abc", offset=0)
    answer = runtime("POST", stream_path(attempt), token=token_of(attempt), raw=b"x", offset=9)
    assert (answer.status_code, answer.json()["size"]) == (409, 3)


@pytest.mark.parametrize("name", ["rank-9.log", "rank-0.exe", "..", "%2e%2e%2fx", "rank-0.log%00"])
def test_strange_streams_are_refused(face: Face, name: str) -> None:
    """4xx, and nothing is written."""
    _job, attempt = face.world.running()
    answer = runtime("POST", stream_path(attempt, name), token=token_of(attempt), raw=b"x", offset=0)
    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize("offset", ["x", "-1", "", "9" * 30])
def test_strange_offsets_are_refused(face: Face, offset: str) -> None:
    """422."""
    _job, attempt = face.world.running()
    answer = runtime("POST", stream_path(attempt), token=token_of(attempt), raw=b"x", offset=offset)
    assert answer.status_code == 422


def test_too_much_at_once_is_413(face: Face) -> None:
    """The agent sends pieces."""
    _job, attempt = face.world.running()
    raw = b"x" * (17 * 2**20)
    assert (
        runtime("POST", stream_path(attempt), token=token_of(attempt), raw=raw, offset=0).status_code == 413
    )


def test_a_file_is_left_under_its_name(face: Face) -> None:
    """Whatever letters it has."""
    job, attempt = face.world.running()
    path = protocol.OUTPUT_PATH.format(attempt_id=attempt.id)
    digest = sha256(b"body").hexdigest()
    name = "%E7%BB%93%E6%9E%9C.txt"
    answer = runtime("PUT", path, token=token_of(attempt), raw=b"body", path=name, sha256=digest)
    assert (answer.status_code, Output.objects.get(job_id=job.id).path) == (201, "结果.txt")


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a%00b", "a%5Cb"])
def test_files_stay_inside(face: Face, name: str) -> None:
    """PC10."""
    _job, attempt = face.world.running()
    path = protocol.OUTPUT_PATH.format(attempt_id=attempt.id)
    digest = sha256(b"x").hexdigest()
    answer = runtime("PUT", path, token=token_of(attempt), raw=b"x", path=name, sha256=digest)
    assert answer.status_code == 422
    assert not Output.objects.exists()


def test_the_code_comes_down_as_a_tar_gz(face: Face) -> None:
    """With the hash that the launch names; 404 for a job without code."""
    answer = face.client().post(
        "/api/v1/jobs",
        {"spec": json.dumps({"name": "n", "queue": "a", "run": "x"}), "code": archive()},
        format="multipart",
    )
    attempt = face.world.place(Job.objects.get(id=answer.json()["id"]))
    found = runtime("GET", protocol.CODE_PATH.format(attempt_id=attempt.id), token=token_of(attempt))
    body = b"".join(found.streaming_content)
    launch = LaunchSpec.from_json(Command.objects.get(attempt_id=attempt.id).payload)
    assert sha256(body).hexdigest() == launch.code_sha256
    _job, plain = face.world.running(node="n2")
    path = protocol.CODE_PATH.format(attempt_id=plain.id)
    assert runtime("GET", path, token=token_of(plain)).status_code == 404


def test_an_inventory_makes_nodes_and_is_the_heartbeat(face: Face) -> None:
    """And says which attempts the conductor holds."""
    told = inventory(face.world.epoch, {"a": "running"}, nodes=("n1", "n2", "n3")).to_json()
    assert conductor("POST", protocol.INVENTORY_PATH, told).json() == {"came": ["n3"], "went": []}
    assert Node.objects.count() == 3
    assert Conductor.objects.get().attempts == {"a": "running"}


def test_an_older_epoch_is_refused_everywhere(face: Face) -> None:
    """409, and the conductor knows that it was replaced."""
    old = face.world.epoch
    conductor("POST", protocol.EPOCH_PATH, {"incarnation": "c2"})
    assert conductor("GET", protocol.ORDERS_PATH, epoch=old).status_code == 409
    assert conductor("POST", protocol.ORDERS_PATH, {"epoch": old, "done": []}).status_code == 409
    body = {"epoch": old, "incarnation": INCARNATION, "reports": []}
    assert conductor("POST", protocol.INVENTORY_PATH, inventory(old, {}).to_json()).status_code == 409
    assert conductor("POST", protocol.REPORTS_PATH, body).status_code == 409


GOOD_REPORT = {"seq": 1, "kind": "ended", "job_id": "x", "attempt_id": "x", "at_ms": 0, "cause": "completed"}
NO_REPORTS: list[object] = [
    None,
    {},
    "x",
    [None],
    [{}],
    [{**GOOD_REPORT, "seq": "1"}],
    [{**GOOD_REPORT, "seq": 2**80}],
    [{**GOOD_REPORT, "seq": True}],
]
BAD_REPORTS: list[dict[str, object]] = [
    {**GOOD_REPORT, "kind": "unknown"},
    {**GOOD_REPORT, "cause": 7},
    {**GOOD_REPORT, "message": None},
    {**GOOD_REPORT, "message": ["x"]},
    {**GOOD_REPORT, "last_lines": "x", "finished": "yes"},
    {**GOOD_REPORT, "last_lines": [1]},
    {**GOOD_REPORT, "exit_code": 1.5},
    {**GOOD_REPORT, "node": {}},
    {key: value for key, value in GOOD_REPORT.items() if key != "attempt_id"},
]


def test_an_unreadable_report_counts_and_changes_nothing(face: Face) -> None:
    """The ones behind it are taken in: a gap in the numbers could never be closed."""
    job, attempt = face.world.running()
    numbered = [{**bad, "seq": number + 1} for number, bad in enumerate(BAD_REPORTS)]
    last = len(numbered) + 1
    ended = report(last, attempt, ReportKind.ENDED, cause=EndCause.COMPLETED)
    body = {"epoch": face.world.epoch, "incarnation": "c9", "reports": [*numbered, ended]}
    assert conductor("POST", protocol.REPORTS_PATH, body).json() == {"acked": last}
    assert fresh(job).state == "succeeded"


def test_what_are_no_reports_is_422(face: Face) -> None:
    """Refused whole: the conductor's number stays where it was."""
    for reports in NO_REPORTS:
        body = {"epoch": face.world.epoch, "incarnation": "c9", "reports": reports}
        assert conductor("POST", protocol.REPORTS_PATH, body).status_code == 422, reports


@pytest.mark.parametrize("path", [path for method, path in CONDUCTORS if method == "POST"])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff",
        b"[" * 50_000,
        b'{"a": NaN}',
        b'{"epoch": "x", "done": 7}',
        b'{"epoch": 1e400}',
    ],
    ids=range(9),
)
def test_bad_bodies_are_422(face: Face, path: str, raw: bytes) -> None:
    """Never a 500."""
    assert conductor("POST", path, raw=raw).status_code == 422


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": None},
        {"nodes": [{}]},
        {"nodes": [7]},
        {"attempts": []},
        {"attempts": {"a": 7}},
        {"epoch": "x"},
        {"rebuilt": "yes"},
        {"at_ms": 10**40},
    ],
    ids=range(8),
)
def test_bad_inventories_are_422(face: Face, changes: dict[str, Any]) -> None:
    """And no node changes."""
    told = {**inventory(face.world.epoch, {}).to_json(), **changes}
    assert conductor("POST", protocol.INVENTORY_PATH, told).status_code == 422
    assert Node.objects.count() == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {"a": 1}},
        {"labels": []},
        {"num_accelerators": -1},
        {"num_accelerators": 1.5},
        {"num_accelerators": 2**40},
        {"memory_bytes": 2**62},
        {"metrics": {"cpu": "x"}},
        {"metrics": {"cpu": 1}},
        {"alive": 1},
        {"name": "x" * 500},
        {"name": "a\u0000"},
        {"problem": "\ud800"},
        {"address": "x" * 500},
    ],
    ids=range(13),
)
def test_no_node_is_a_server_error(face: Face, changes: dict[str, Any]) -> None:
    """Taken in, or refused whole."""
    told = inventory(face.world.epoch, {}).to_json()
    told["nodes"][0] |= changes
    assert conductor("POST", protocol.INVENTORY_PATH, told).status_code in (200, 422)


@pytest.mark.parametrize(("method", "path"), [("PUT", protocol.EPOCH_PATH), ("DELETE", protocol.ORDERS_PATH)])
def test_other_methods_are_405(face: Face, method: str, path: str) -> None:
    """As everywhere."""
    assert conductor(method, path).status_code == 405
