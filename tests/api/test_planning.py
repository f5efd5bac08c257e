"""The engine over REST: supposing, forecasts, the policy, plans; windows, drains and arrays."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from cluster.models import Node
from jobs import serializers as shapes
from jobs.models import Job
from jobs.services.tick import run_tick
from ray_runtime.protocol import ReportKind
from tests.api.faces import Face
from tests.jobs.builders import at, document, fresh


def keys_of(shape: type[Any]) -> set[str]:
    """The fields that OpenAPI promises."""
    return set(shape().get_fields())


def running(face: Face, node: str = "n1", **changes: Any) -> Job:
    """A job that runs on one node."""
    job, _attempt = face.world.running(node=node, **changes)
    return job


def test_a_supposed_job_starts_or_waits_with_a_reason(face: Face) -> None:
    """Nothing is stored."""
    running(face)
    answer = face.post("simulate", {"jobs": [document(), document(workers=3)]}).json()
    assert set(answer) == keys_of(shapes.AnswerShape)
    first, second = answer["jobs"]
    assert set(first) == keys_of(shapes.SupposedShape)
    assert (first["starts_now"], second["starts_now"]) == (True, False)
    assert second["reason"]["code"] == "never_fits"
    assert Job.objects.count() == 1


def test_a_larger_guarantee_shows_who_would_have_to_leave(face: Face) -> None:
    """The victim is told by name to those who may see it, the beneficiary by its id."""
    for node in ("n1", "n2"):
        running(face, node, name=f"on {node}")
    claim = document(queue="b")
    answer = face.post("simulate", {"jobs": [claim], "quotas": {"b": {"guarantee": 4}}}, "outsider").json()
    (evicted,) = answer["evicted"]
    assert (evicted["kind"], evicted["id"], evicted["name"]) == ("reclaim", None, None)
    assert (
        face.post("simulate", {"jobs": [claim], "quotas": {"b": {"guarantee": 0}}}, "outsider").json()[
            "evicted"
        ]
        == []
    )
    assert not Job.objects.filter(state="stopping").exists()


def test_a_removed_node_interrupts_its_jobs(face: Face) -> None:
    """They start on what is left, or wait."""
    job = running(face, name="here")
    gone = face.post("simulate", {"remove_nodes": ["n1"]}).json()
    assert gone["interrupted"] == [{"id": str(job.id), "name": "here"}]
    assert [row["id"] for row in gone["starts"]] == [str(job.id)]
    running(face, "n2")
    crowded = face.post("simulate", {"remove_nodes": ["n1"]}).json()
    assert [row["id"] for row in crowded["waits"]] == [str(job.id)]
    assert face.post("simulate", {"cordon_nodes": ["n1"]}).json()["interrupted"] == []


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"jobs": [{"name": "x"}, 7]}, ["jobs[0].run", "jobs[1]"]),
        ({"remove_nodes": ["n9"]}, ["remove_nodes"]),
        ({"remove_nodes": "n1"}, ["remove_nodes"]),
        ({"quotas": {"c": {"guarantee": 1}}}, ["quotas.c"]),
        ({"quotas": {"a": {"guarantee": "x", "colour": 1}}}, ["quotas.a.colour", "quotas.a.guarantee"]),
        ({"colour": "red"}, ["colour"]),
    ],
)
def test_what_cannot_be_supposed_is_refused_by_path(face: Face, body: Any, paths: list[str]) -> None:
    """All at once."""
    answer = face.post("simulate", body)
    assert answer.status_code == 422
    assert sorted(detail["path"] for detail in answer.json()["details"]) == paths


def test_a_forecast_lists_who_waits_in_planned_order(face: Face) -> None:
    """With the reason and what is planned; only jobs that the reader may see."""
    for node in ("n1", "n2"):
        running(face, node)
    for name, priority in (("later", "low"), ("sooner", "low")):
        face.submit(name=name, priority=priority)
    Job.objects.filter(name="sooner").update(
        eta={"at_ms": 1_795_993_200_000, "basis": "limits"},
        reserved={
            "placement": [{"rank": 0, "node": "n1", "devices": [0]}],
            "accelerator_type": "slot",
            "starts_at_ms": 1_795_993_200_000,
            "basis": "limits",
        },
    )
    rows = face.get("queues/a/forecast").json()["results"]
    assert [row["name"] for row in rows] == ["sooner", "later"]
    assert set(rows[0]) == keys_of(shapes.ForecastShape)
    assert rows[0]["planned"]["reserved"]["starts_at"] == "2026-11-29T23:00:00Z"
    assert rows[0]["eta"]["basis"] == "limits"
    assert (rows[1]["planned"], rows[1]["eta"]) == (None, None)
    assert face.get("queues/a/forecast", "outsider").status_code == 404


def test_whoever_starts_sooner_is_planned_before_a_later_reservation(face: Face) -> None:
    """A reserved place is no rank: only the expected start is, then the turn."""
    for name in ("reserved", "soon", "unknown"):
        face.submit(name=name)
    late, soon = ({"at_ms": at_ms, "basis": "limits"} for at_ms in (1_795_993_300_000, 1_795_993_200_000))
    place: dict[str, Any] = {
        "placement": [],
        "accelerator_type": "slot",
        "starts_at_ms": late["at_ms"],
        "basis": "limits",
    }
    Job.objects.filter(name="reserved").update(eta=late, reserved=place)
    Job.objects.filter(name="soon").update(eta=soon)
    rows = face.get("queues/a/forecast").json()["results"]
    assert [row["name"] for row in rows] == ["soon", "reserved", "unknown"]


def test_an_array_is_supposed_with_all_its_jobs_and_its_cap(face: Face) -> None:
    """Two may hold devices at once, though there is room for all."""
    array = document(resources={"accelerators": 1}, array={"seed": [1, 2, 3]}, limits={"concurrent": 2})
    rows = face.post("simulate", {"jobs": [array]}).json()["jobs"]
    assert sorted(row["starts_now"] for row in rows) == [False, True, True]
    assert [row["reason"]["code"] for row in rows if row["reason"]] == ["array_cap"]
    huge = document(array={"seed": list(range(600))})
    refused = face.post("simulate", {"jobs": [huge, huge]})
    assert (refused.status_code, refused.json()["details"][0]["path"]) == (422, "jobs")
    assert face.post("jobs/validate", array).json()["predicted"]["starts_now"]


@pytest.mark.parametrize("is_held", [False, True])
def test_what_depends_on_another_job_is_supposed_to_wait_for_it(face: Face, *, is_held: bool) -> None:
    """Also where the engine does not see that one, because it is held."""
    first = face.submit()
    if is_held:
        face.post(f"jobs/{first['id']}/hold")
    after = document(depends_on=[first["id"]])
    (supposed,) = face.post("simulate", {"jobs": [after]}).json()["jobs"]
    predicted = face.post("jobs/validate", after).json()["predicted"]
    for told in (supposed, predicted):
        assert (told["starts_now"], told["reason"]["code"]) == (False, "waits_job")


def test_a_gang_that_loses_its_node_may_start_smaller(face: Face) -> None:
    """While it runs it counts as rigid; once it waits, its least size is enough."""
    job = face.world.submit(workers={"min": 1, "max": 2})
    face.world.place(job, nodes=("n1", "n2"))
    gone = face.post("simulate", {"remove_nodes": ["n1"]}).json()
    assert [row["id"] for row in gone["starts"]] == [str(job.id)]


def test_the_policy_is_read_by_all_and_changed_by_platform_admins(face: Face) -> None:
    """And stands with the next plan."""
    assert face.get("policy").json()["num_reservations"] == 4
    assert face.patch("policy", {"num_reservations": 2}, "team_admin").status_code == 403
    changed = face.patch("policy", {"num_reservations": 2, "order": "strict_fifo"}, "platform_admin")
    assert set(changed.json()) == keys_of(shapes.PolicyShape)
    run_tick(now=timezone.now())
    plan = face.get("plans", "platform_admin").json()["results"][0]
    assert set(plan) == keys_of(shapes.PlanShape)
    assert (plan["policy"]["order"], plan["policy"]["num_reservations"]) == ("strict_fifo", 2)
    assert face.get("plans").status_code == 403
    wrong = face.patch("policy", {"colour": "red", "packing": 7}, "platform_admin")
    assert sorted(detail["path"] for detail in wrong.json()["details"]) == ["colour", "packing"]


def test_a_drained_node_takes_nothing_and_its_jobs_leave(face: Face) -> None:
    """They wait again, at no cost, and go on elsewhere."""
    job, attempt = face.world.running()
    face.world.report(attempt, ReportKind.RUNNING)
    assert face.post("nodes/n1/drain", {"reason": "换风扇"}, "team_admin").status_code == 403
    answer = face.post("nodes/n1/drain", {"reason": "换风扇"}, "platform_admin")
    assert answer.json() == {"node": "n1", "num_leaving": 1}
    told = fresh(job)
    assert (told.state, told.intent, told.cause) == ("stopping", "preempt", "maintenance")
    assert Node.objects.get(name="n1").cordoned
    assert face.post("nodes/n1/drain", {"reason": "换风扇"}, "platform_admin").json()["num_leaving"] == 0


def test_a_maintenance_window_is_planned_seen_and_cancelled(face: Face) -> None:
    """The engine plans around it."""
    begin = timezone.now() + timedelta(hours=1)
    window = {
        "nodes": ["n1"],
        "starts_at": begin.isoformat(),
        "ends_at": (begin + timedelta(hours=2)).isoformat(),
        "reason": "固件",
    }
    assert face.post("maintenance", window).status_code == 403
    made = face.post("maintenance", window, "platform_admin")
    assert made.status_code == 201
    assert [row["reason"] for row in face.get("maintenance").json()["results"]] == ["固件"]
    assert face.delete(f"maintenance/{made.json()['id']}", "platform_admin").status_code == 204
    assert face.get("maintenance").json()["results"] == []
    wrong = face.post("maintenance", {**window, "nodes": ["n9"], "reason": " "}, "platform_admin")
    assert wrong.status_code == 422
    backwards = {**window, "ends_at": window["starts_at"]}
    assert face.post("maintenance", backwards, "platform_admin").json()["details"][0]["path"] == "ends_at"


def test_an_array_is_one_record_to_watch_and_to_cancel(face: Face) -> None:
    """Its jobs are found by it, and counted by state."""
    first = face.submit(array={"seed": [1, 2, 3]}, resources={"accelerators": 1}, limits={"concurrent": 2})
    assert first["array"]["values"] == {"seed": 1}
    key = first["array"]["id"]
    array = face.get(f"arrays/{key}").json()
    assert set(array) == keys_of(shapes.ArrayShape)
    assert (array["size"], array["concurrent"], array["states"]) == (3, 2, {"queued": 3})
    assert len(face.get("jobs", array=key).json()["results"]) == 3
    assert face.get("jobs", array="x").status_code == 422
    assert face.get(f"arrays/{key}", "outsider").status_code == 404
    assert face.post(f"arrays/{key}/cancel").json()["states"] == {"cancelled": 3}


def test_a_job_tells_what_it_depends_on(face: Face) -> None:
    """And how far that is."""
    first = face.submit()
    second = face.submit(depends_on=[first["id"]])
    assert second["depends_on"] == [{"id": first["id"], "state": "queued"}]


def test_a_quota_has_types_and_a_limit_for_users(face: Face) -> None:
    """In devices; null takes the user's limit away."""
    given = {"guarantee": 4, "type_guarantees": {"slot": 2}, "type_limits": {"slot": 4}, "user_limit": 3}
    queue = face.patch("queues/a", given, "platform_admin").json()
    assert {key: queue[key] for key in given} == given
    assert face.patch("queues/a", {"user_limit": None}, "platform_admin").json()["user_limit"] is None
    wrong = face.patch("queues/a", {"type_limits": {"slot": 1}}, "platform_admin")
    assert [detail["path"] for detail in wrong.json()["details"]] == ["type_limits.slot"]
    assert face.world.submit(now=at(1)).queue.type_limits == {"slot": 4000}
