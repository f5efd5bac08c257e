"""The queues page, and changing a quota on it."""

import pytest

from accounts.models import AuditEntry
from quotas.models import Queue
from tests.jobs.builders import NOW, World, used_milli
from tests.web.browsing import browser_of, part_of, text_of

GOOD = {"guarantee": "3", "limit": "6.5", "weight": "2", "max_priority": "400"}


@pytest.fixture
def child(world: World) -> Queue:
    """A queue below team A's own."""
    return Queue.objects.create(path="a/微调", parent=world.queue_a, team=world.cast.team_a, created_at=NOW)


def test_numbers_of_use_guarantee_limit_and_jobs(world: World, child: Queue) -> None:
    """As the ledger has them, with waiting jobs in their order."""
    world.running(name="runs")
    world.submit(name="second", priority="normal")
    world.submit(name="first", priority="high")
    response = browser_of(world.cast.viewer).get("/queues")
    views = {view.row.path: view for view in response.context["queues"]}
    assert set(views) == {"a", "a/微调"}
    assert views["a"].row.used_milli == used_milli("a") == 4000
    assert (views["a"].num_running, views["a"].num_waiting) == (1, 2)
    assert [row.job.name for row in views["a"].waiting] == ["first", "second"]


def test_a_team_admin_divides_below_the_teams_own_queue(world: World, child: Queue) -> None:
    """The change is stored, recorded and said."""
    client = browser_of(world.cast.team_admin)
    assert "/queues/a/%E5%BE%AE%E8%B0%83/quota" in text_of(client.get("/queues"))
    assert 'value="0"' in part_of(client, "/queues/a/微调/quota")
    response = client.post("/queues/a/微调/quota", GOOD, follow=True)
    assert "The quota of a/微调 was changed." in response.content.decode()
    child.refresh_from_db()
    assert (child.guarantee_milli, child.limit_milli, child.weight, child.max_priority) == (
        3000,
        6500,
        2,
        400,
    )
    assert AuditEntry.objects.filter(action="quota_set", actor=world.cast.team_admin).exists()


def test_the_dialog_stays_open_with_what_is_wrong(world: World, child: Queue) -> None:
    """And leaves for the queues page when all is well."""
    client = browser_of(world.cast.team_admin)
    htmx = {"hx-request": "true"}
    wrong = text_of(client.post("/queues/a/微调/quota", {**GOOD, "weight": "0"}, headers=htmx))
    assert 'id="q-weight"' in wrong
    assert "<html" not in wrong
    good = client.post("/queues/a/微调/quota", GOOD, headers=htmx)
    assert (good.status_code, good.headers["HX-Redirect"]) == (204, "/queues")


def test_types_and_users_have_their_fields(world: World, child: Queue) -> None:
    """Numbers by type in one field; what a form does not send stays as it is."""
    Queue.objects.filter(path="a").update(type_guarantees={"h100": 4000})
    client = browser_of(world.cast.team_admin)
    more = {
        "guarantee": "2",
        "user_limit": "3",
        "type_guarantees": "h100=1.5",
        "type_limits": "h100=2, a100=0",
    }
    client.post("/queues/a/微调/quota", {**GOOD, **more})
    queue = Queue.objects.get(path="a/微调")
    assert (queue.user_limit_milli, queue.type_guarantees) == (3000, {"h100": 1500})
    assert queue.type_limits == {"h100": 2000, "a100": 0}
    client.post("/queues/a/微调/quota", GOOD)
    assert Queue.objects.get(path="a/微调").type_guarantees == {"h100": 1500}
    wrong = client.post("/queues/a/微调/quota", {**GOOD, "type_limits": "h100"})
    assert "must name each type once" in wrong.content.decode()
    above = client.post("/queues/a/微调/quota", {**GOOD, "type_guarantees": "a100=1"})
    assert "a100: is more than “a” has left to give" in above.content.decode()


def test_an_empty_limit_is_none(world: World, child: Queue) -> None:
    """No limit of its own."""
    Queue.objects.filter(id=child.id).update(limit_milli=1000)
    browser_of(world.cast.team_admin).post("/queues/a/微调/quota", {**GOOD, "guarantee": "0", "limit": " "})
    child.refresh_from_db()
    assert child.limit_milli is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"guarantee": "5"}, "guarantee"),
        ({"guarantee": "x"}, "guarantee"),
        ({"guarantee": ""}, "guarantee"),
        ({"guarantee": "-1"}, "guarantee"),
        ({"guarantee": "1e99"}, "guarantee"),
        ({"guarantee": "NaN"}, "guarantee"),
        ({"guarantee": "0.0001"}, "guarantee"),
        ({"limit": "1"}, "limit"),
        ({"limit": "Infinity"}, "limit"),
        ({"weight": "0"}, "weight"),
        ({"weight": "1.5"}, "weight"),
        ({"max_priority": "99999999999999999999"}, "max_priority"),
    ],
)
def test_wrong_numbers_come_back_at_their_field(
    world: World, child: Queue, change: dict[str, str], field: str
) -> None:
    """And nothing is stored."""
    response = browser_of(world.cast.team_admin).post("/queues/a/微调/quota", {**GOOD, **change})
    assert response.status_code == 422
    assert field in response.context["problems"]
    child.refresh_from_db()
    assert child.guarantee_milli == 0


@pytest.mark.parametrize(("role", "path", "status"), [
    ("owner", "a/微调", 403),
    ("viewer", "a/微调", 403),
    ("team_admin", "a", 403),
    ("outsider", "a/微调", 404),
    ("team_admin", "b", 404),
    ("team_admin", "nowhere", 404),
    ("platform_admin", "a", 200),
])  # fmt: skip
def test_who_may_change_which_quota(world: World, child: Queue, role: str, path: str, status: int) -> None:
    """The same for looking at the form and for sending it."""
    client = browser_of(getattr(world.cast, role))
    assert client.get(f"/queues/{path}/quota").status_code == status
    sent = client.post(f"/queues/{path}/quota", GOOD).status_code
    assert sent == (302 if status == 200 else status)


def test_lowering_below_use_is_said_as_it_is(world: World) -> None:
    """4 of 2, and nothing is stopped."""
    job, _attempt = world.running()
    lowered = {"guarantee": "1", "limit": "2", "weight": "1", "max_priority": "1000"}
    browser_of(world.cast.platform_admin).post("/queues/a/quota", lowered)
    response = browser_of(world.cast.owner).get("/queues")
    row = response.context["queues"][0].row
    assert (row.used_milli, row.limit_milli) == (4000, 2000)
    assert text_of(browser_of(world.cast.owner).get(f"/jobs/{job.id}")).count("tone-running")
