"""Each command against the portal's own REST interface, over a socket: the two keep to the same words."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.services import create_token
from artifacts.models import Checkpoint
from jobs.models import Job
from tests.cli.conftest import Command
from tests.jobs.builders import NOW, World, make_world

Become = Callable[[str], None]


@pytest.fixture
def world(transactional_db: None) -> World:
    """Two teams, two queues, two nodes."""
    from django.core.cache import cache

    cache.clear()
    return make_world()


@pytest.fixture
def as_user(
    gangline: Command, world: World, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> Become:
    """Makes the commands that follow those of this member of the cast."""
    monkeypatch.setenv("GANGLINE_URL", live_server.url)

    def become(role: str) -> None:
        user = getattr(world.cast, role)
        _token, secret = create_token(user=user, name="test", expires_at=None, now=NOW)
        monkeypatch.setenv("GANGLINE_TOKEN", secret)

    become("owner")
    return become


def submit(gangline: Command, *pairs: str) -> str:
    """Submit a job; its id."""
    result = gangline(
        *("submit", "queue=a", "resources.accelerators=4", "run=python x.py", "-o", "name"), *pairs
    )
    assert result.code == 0, result.err
    return result.out.strip()


def test_a_job_is_submitted_listed_shown_explained_and_cancelled(gangline: Command, as_user: Become) -> None:
    """The whole round of a job that waits."""
    job_id = submit(gangline, "name=微调 7B 第一次", "priority=high")
    assert "微调 7B 第一次" in gangline("ps").out
    shown = gangline("show", job_id)
    assert (shown.code, "300" in shown.out) == (0, True)
    assert "Submitted by owner to queue a" in shown.out
    assert gangline("explain", job_id).code == 0
    assert gangline("priority", job_id, "low").code == 0
    assert json.loads(gangline("show", job_id, "-o", "json").out)["priority"] == 100
    assert gangline("hold", job_id).code == 0
    assert gangline("release", job_id).code == 0
    assert json.loads(gangline("cancel", job_id, "-o", "json").out)[0]["state"] == "cancelled"
    assert "already" in gangline("cancel", job_id).err.lower()
    assert "微调" not in gangline("ps").out
    assert "微调" in gangline("ps", "-a").out


def test_a_name_of_two_jobs_lists_their_ids_and_does_nothing(gangline: Command, as_user: Become) -> None:
    """PC09: also where one of them is cloned, and the clone keeps the name."""
    first = submit(gangline, "name=[x] 100% done?#frag")
    clone = gangline("clone", "[x] 100% done?#frag", "-o", "name").out.strip()
    result = gangline("cancel", "[x] 100% done?#frag")
    assert result.code == 2
    assert first in result.err
    assert clone in result.err
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}


def test_the_beginning_of_an_id_finds_its_job(gangline: Command, as_user: Become) -> None:
    """With and without a dash in it; a name of hexadecimal digits is found as well."""
    job_id = submit(gangline, "name=one")
    submit(gangline, "name=beef")
    for length in (8, 9, 12, 36):
        assert gangline("show", job_id[:length], "-o", "name").out.strip() == job_id
    assert json.loads(gangline("show", "beef", "-o", "json").out)["name"] == "beef"


def test_a_refused_job_file_names_every_key(gangline: Command, as_user: Become) -> None:
    """By dry run, by validate and by submission alike."""
    for command in (("submit", "--dry-run"), ("validate",), ("submit",)):
        result = gangline(*command, "name=x", "queue=a", "workers=0", "color=red")
        assert result.code == 3
        for path in ("color", "run", "workers"):
            assert re.search(rf"^  {path}: ", result.err, re.MULTILINE)


def test_a_dry_run_predicts_the_start(gangline: Command, as_user: Become) -> None:
    """In a sentence."""
    result = gangline("submit", "--dry-run", "name=x", "queue=a", "run=true", "resources.accelerators=4")
    assert (result.code, result.out.startswith("Valid. ")) == (0, True)
    assert not Job.objects.exists()


def test_code_goes_along(gangline: Command, as_user: Become, tmp_path: Path) -> None:
    """The portal keeps the archive that the command packed; the same code is kept once."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "训练.py").write_text("print(1)\n")
    (folder / "job.yaml").write_text("name: x\nqueue: a\nrun: python 训练.py\ncode: .\n", encoding="utf-8")
    first, second = (gangline("submit", "-f", str(folder / "job.yaml"), "-o", "name").out for _ in range(2))
    codes = {Job.objects.get(id=UUID(job_id.strip())).code_id for job_id in (first, second)}
    assert len(codes) == 1
    assert None not in codes


def test_the_same_key_is_one_job(gangline: Command, as_user: Become) -> None:
    """PC08: and with another job it is refused."""
    assert submit(gangline, "name=x", "--key", "k1") == submit(gangline, "name=x", "--key", "k1")
    result = gangline("submit", "name=y", "queue=a", "run=true", "--key", "k1")
    assert (result.code, result.err.split(":")[0]) == (3, "idempotency_key_reused")
    assert Job.objects.count() == 1


def test_another_teams_job_is_not_there(gangline: Command, as_user: Become) -> None:
    """By id or by name."""
    job_id = submit(gangline, "name=ours")
    as_user("outsider")
    for reference in (job_id, "ours", job_id[:8]):
        assert gangline("cancel", reference).code == 3
    assert Job.objects.get().state == "queued"


def test_queues_and_quotas_are_shown_and_set(gangline: Command, as_user: Become) -> None:
    """By a platform admin; a member is told who may."""
    assert gangline("quota", "set", "a", "--limit", "2").code == 3
    as_user("platform_admin")
    assert gangline("quota", "set", "a", "--limit", "6", "--guarantee", "2").code == 0
    row = gangline("quota", "show", "a").out.splitlines()[1].split()
    assert row[:4] == ["a", "team-a", "2", "6"]
    assert gangline("quota", "set", "a", "--limit", "none").code == 0
    assert "none" in gangline("queues").out


def test_nodes_are_shown_and_cordoned(gangline: Command, as_user: Become, world: World) -> None:
    """With what runs on them."""
    world.running(name="训练")
    shown = gangline("nodes")
    assert shown.code == 0, shown.err
    assert "4/4" in shown.out
    assert "训练" in shown.out
    assert gangline("nodes", "cordon", "n2").code == 3
    as_user("platform_admin")
    assert gangline("nodes", "cordon", "n2", "--reason", "fan").code == 0
    assert "cordoned" in gangline("nodes").out
    assert gangline("nodes", "uncordon", "n2").code == 0


def test_tokens_are_made_listed_and_revoked(gangline: Command, as_user: Become) -> None:
    """A revoked one opens nothing."""
    made = gangline("tokens", "create", "ci")
    assert made.out.startswith("glt_")
    token_id = next(
        token["id"]
        for token in json.loads(gangline("tokens", "list", "-o", "json").out)
        if token["name"] == "ci"
    )
    assert gangline("tokens", "revoke", token_id).code == 0
    assert token_id not in gangline("tokens", "list").out


def test_a_running_job_shows_where_it_is_and_what_it_saved(
    gangline: Command, as_user: Become, world: World
) -> None:
    """Placement, attempts, checkpoints, logs, outputs."""
    job, attempt = world.running(name="long")
    Checkpoint.objects.create(
        job_id=job.id,
        attempt_id=attempt.id,
        step=40,
        path="/c/step-40",
        size_bytes=1,
        state="whole",
        saved_at=NOW,
    )
    assert "n1 [0, 1, 2, 3] (rank 0)" in gangline("show", "long").out
    assert "40" in gangline("checkpoints", "list", "long").out
    assert gangline("logs", "long").code == 0
    assert gangline("outputs", "list", "long").code == 0


def test_whoami_and_version_know_the_portal(gangline: Command, as_user: Become) -> None:
    """The role in each team."""
    assert "team-a (member)" in gangline("whoami").out
    assert json.loads(gangline("version", "-o", "json").out)["portal"]
