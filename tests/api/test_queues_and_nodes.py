"""Queues and nodes over REST."""

from typing import Any

import pytest

from jobs import serializers as shapes
from quotas.models import Queue
from ray_runtime.protocol import ReportKind
from tests.api.faces import Face
from tests.jobs.builders import at, used_milli


def queue(face: Face, path: str = "a", who: str = "owner") -> dict[str, Any]:
    """One row of the list."""
    rows = face.get("queues", who).json()["results"]
    found: dict[str, Any] = next(row for row in rows if row["path"] == path)
    return found


def test_a_queue_shows_its_numbers_and_jobs(face: Face) -> None:
    """In devices; waiting and running counted apart."""
    face.world.running()
    face.world.place(face.world.submit(), nodes=("n2",))
    face.world.submit()
    row = queue(face)
    assert set(row) == set(shapes.QueueShape().get_fields())
    assert (row["used"], row["guarantee"], row["limit"], row["borrowed"]) == (8, 4, None, 4)
    assert (row["pending"], row["running"], row["team"]) == (1, 2, "team-a")


def test_a_queue_counts_the_jobs_below_it(face: Face) -> None:
    """As it counts their use."""
    face.post("queues", {"path": "a/nlp", "guarantee": 2}, "platform_admin")
    face.submit(queue="a/nlp")
    assert (queue(face)["pending"], queue(face, "a/nlp")["pending"]) == (1, 1)


def test_strangers_do_not_see_a_teams_queues(face: Face) -> None:
    """Neither in the list nor by name."""
    paths = [row["path"] for row in face.get("queues", "outsider").json()["results"]]
    assert paths == ["b"]
    assert face.get("queues/a", "outsider").status_code == 404
    assert face.get("queues/a").json()["path"] == "a"


def test_an_admin_lowers_a_quota_below_its_use(face: Face) -> None:
    """PC05: shown as 4 of 2, nothing is killed."""
    job, _attempt = face.world.running()
    answer = face.patch("queues/a", {"guarantee": 2, "limit": 2}, "platform_admin")
    assert (answer.status_code, answer.json()["used"], answer.json()["limit"]) == (200, 4, 2)
    assert face.get(f"jobs/{job.id}").json()["state"] == "running"
    assert used_milli() == 4000


def test_what_is_left_out_stays_and_null_is_no_limit(face: Face) -> None:
    """A change of one number is a change of that number."""
    face.patch("queues/a", {"limit": 8, "max_priority": 300}, "platform_admin")
    changed = face.patch("queues/a", {"weight": 3}, "platform_admin").json()
    assert (changed["limit"], changed["guarantee"], changed["weight"], changed["max_priority"]) == (
        8,
        4,
        3,
        300,
    )
    assert face.patch("queues/a", {"limit": None}, "platform_admin").json()["limit"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"limit": -1},
        {"limit": "4"},
        {"limit": 0.0001},
        {"limit": 1},
        {"guarantee": None},
        {"guarantee": True},
        {"weight": 0},
        {"weight": 1.5},
        {"weight": 10**30},
        {"max_priority": 1001},
        {"max_priority": None, "colour": 1},
        {"path": "b"},
        [],
        7,
    ],
    ids=range(14),
)
def test_a_bad_quota_is_422_and_changes_nothing(face: Face, body: object) -> None:
    """By path, in our shape."""
    answer = face.patch("queues/a", body, "platform_admin")
    assert answer.status_code == 422, answer.content
    assert answer.json()["details"]
    row = queue(face)
    assert (row["guarantee"], row["limit"], row["weight"]) == (4, None, 1)


@pytest.mark.parametrize(
    ("who", "status"), [("owner", 403), ("viewer", 403), ("team_admin", 403), ("outsider", 404)]
)
def test_only_those_above_divide_a_quota(face: Face, who: str, status: int) -> None:
    """A team's own queue is the platform admin's to size."""
    assert face.patch("queues/a", {"weight": 2}, who).status_code == status


def test_a_team_admin_divides_what_is_below_the_teams_own_queue(face: Face) -> None:
    """Within its guarantee."""
    made = face.post("queues", {"path": "a/nlp", "guarantee": 1}, "team_admin")
    assert (made.status_code, made.json()["team"], made.json()["manageable"]) == (201, "team-a", True)
    assert face.patch("queues/a/nlp", {"guarantee": 4}, "team_admin").status_code == 200
    assert face.patch("queues/a/nlp", {"guarantee": 5}, "team_admin").status_code == 422
    assert face.post("queues", {"path": "a/nlp"}, "team_admin").status_code == 409
    assert face.post("queues", {"path": "a/cv"}, "owner").status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"path": ""},
        {"path": "a//b"},
        {"path": "a/<b>"},
        {"path": 7},
        {"path": "x" * 300},
        {"path": "nowhere/x"},
    ],
    ids=range(7),
)
def test_a_bad_queue_is_refused(face: Face, body: object) -> None:
    """422, or 404 for a parent that is not there."""
    assert face.post("queues", body, "platform_admin").status_code in (404, 422)
    assert Queue.objects.count() == 2


def node(face: Face, name: str = "n1", who: str = "owner") -> dict[str, Any]:
    """One row of the list."""
    rows = face.get("cluster/nodes", who).json()["results"]
    found: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return found


def test_a_node_shows_what_runs_on_it(face: Face) -> None:
    """The devices in use, and the jobs that hold them."""
    job, _attempt = face.world.running()
    row = node(face)
    assert set(row) == set(shapes.NodeShape().get_fields())
    assert (row["state"], row["num_accelerators"], row["used"]) == ("ready", 4, 4)
    assert row["jobs"] == [{"id": str(job.id), "name": "微调 7B 第一次", "devices": [0, 1, 2, 3]}]
    assert (node(face, "n2")["used"], node(face, "n2")["jobs"]) == (0, [])


def test_another_teams_jobs_count_but_have_no_name(face: Face) -> None:
    """Who sits there is not everybody's business; that it is full is."""
    face.world.running()
    row = node(face, who="outsider")
    assert (row["used"], row["jobs"]) == (4, [])


def test_totals_leave_out_nodes_that_are_gone(face: Face) -> None:
    """PC01: an unreachable node is shown, its slots are not counted."""
    before = face.get("cluster/utilisation").json()
    assert set(before) == set(shapes.UtilisationShape().get_fields())
    assert (before["accelerators_total"], before["free"], before["nodes_ready"]) == (8, 8, 2)
    face.world.nodes = ("n2",)
    face.world.hear(now=at(5))
    after = face.get("cluster/utilisation").json()
    assert (after["accelerators_total"], after["nodes_total"], after["nodes_ready"]) == (4, 2, 1)
    assert node(face)["state"] == "unreachable"


def test_the_tree_has_zones_racks_and_nodes(face: Face) -> None:
    """From the widest level down."""
    (zone,) = face.get("cluster/topology").json()["domains"]
    assert (zone["level"], zone["num_accelerators"]) == ("zone", 8)
    assert [rack["level"] for rack in zone["children"]] == ["rack", "rack"]


def test_a_platform_admin_keeps_work_off_a_node(face: Face) -> None:
    """What runs there goes on; the reason is shown."""
    job, attempt = face.world.running()
    answer = face.post("nodes/n1/cordon", {"reason": "fan 更换"}, "platform_admin")
    assert (answer.status_code, answer.json()["cordoned"], answer.json()["cordon_reason"]) == (
        200,
        True,
        "fan 更换",
    )
    assert face.get(f"jobs/{job.id}").json()["state"] == "running"
    assert face.post("nodes/n1/cordon", None, "platform_admin").status_code == 200
    assert face.post("nodes/n1/uncordon", None, "platform_admin").json()["cordoned"] is False
    face.world.report(attempt, ReportKind.STOPPING)


@pytest.mark.parametrize(
    ("who", "name", "body", "status"),
    [
        ("owner", "n1", {}, 403),
        ("team_admin", "n1", {}, 403),
        ("platform_admin", "n9", {}, 404),
        ("platform_admin", "n1", {"reason": 7}, 422),
        ("platform_admin", "n1", {"reason": "x" * 301}, 422),
        ("platform_admin", "n1", {"why": "x"}, 422),
        ("platform_admin", "n1", [], 422),
    ],
)
def test_a_bad_cordon_is_refused(face: Face, who: str, name: str, body: object, status: int) -> None:
    """And the node is as it was."""
    assert face.post(f"nodes/{name}/cordon", body, who).status_code == status
    assert node(face)["cordoned"] is False
