"""Every page comes up for whoever may see it, in both languages, and as the part that htmx asks for."""

from collections.abc import Callable

import pytest

from accounts.models import User
from jobs.lifecycle import State
from jobs.models import Job
from jobs.services.stop import cancel_job, hold_job
from jobs.views.detail import TABS
from ray_runtime.protocol import EndCause
from tests.jobs.builders import World, at, fresh
from tests.web.browsing import CHINESE, browser_of, part_of, text_of

LISTS = ("/", "/jobs", "/queues", "/cluster")
OTHERS = ("/profile", "/jobs/new")
ROLES = ("platform_admin", "team_admin", "owner", "teammate", "viewer", "outsider")


def placed(world: World) -> Job:
    """A job that starts."""
    job = world.submit()
    world.place(job)
    return fresh(job)


def after(world: World, act: Callable[..., object], *, runs: bool) -> Job:
    """A job to which its owner did something."""
    job = world.running()[0] if runs else world.submit()
    act(user=world.cast.owner, job_id=job.id, now=at(5))
    return fresh(job)


JOBS: dict[State, Callable[[World], Job]] = {
    State.QUEUED: lambda world: world.submit(),
    State.HELD: lambda world: after(world, hold_job, runs=False),
    State.STARTING: placed,
    State.RUNNING: lambda world: world.running()[0],
    State.STOPPING: lambda world: after(world, hold_job, runs=True),
    State.SUCCEEDED: lambda world: world.end(world.running()[1]),
    State.FAILED: lambda world: world.end(world.running()[1], EndCause.PROGRAM_FAILED, exit_code=1),
    State.CANCELLED: lambda world: after(world, cancel_job, runs=False),
}


def somebody(world: World, role: str) -> User:
    """The cast's user of this role."""
    user = getattr(world.cast, role)
    assert isinstance(user, User)
    return user


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("address", [*LISTS, *OTHERS])
def test_every_role_gets_every_page(world: World, role: str, address: str) -> None:
    """With jobs of the own and of another team around."""
    world.running()
    world.submit(name="waits")
    page = text_of(browser_of(somebody(world, role)).get(address))
    assert '<html lang="en"' in page


@pytest.mark.parametrize("address", [*LISTS, *OTHERS])
def test_every_page_speaks_chinese(world: World, address: str) -> None:
    """The language is the browser's until the account says otherwise."""
    world.running()
    page = text_of(browser_of(world.cast.owner, language="zh-CN,zh;q=0.9").get(address))
    assert '<html lang="zh-hans"' in page
    assert "提交作业" in page


@pytest.mark.parametrize("address", LISTS)
def test_the_live_part_of_a_page_is_only_that_part(world: World, address: str) -> None:
    """It replaces an element of the same id on the page."""
    world.running()
    part = part_of(browser_of(world.cast.owner), address)
    assert "<html" not in part
    assert 'hx-swap="outerHTML"' in part


@pytest.mark.parametrize("language", ["en", CHINESE])
@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("state", [*State])
def test_every_tab_of_a_job_in_every_state(world: World, state: State, tab: str, language: str) -> None:
    """Whatever there is of the job yet."""
    job = JOBS[state](world)
    assert job.state == state
    client = browser_of(world.cast.viewer, language=language)
    address = f"/jobs/{job.id}" + ("" if tab == "overview" else f"/{tab}")
    assert str(job.id) in text_of(client.get(address))
    assert 'hx-swap-oob="true"' in part_of(client, address)


def test_a_waiting_job_tells_why_and_what_would_help(world: World) -> None:
    """On its page, in the list and in its queue."""
    reason = {
        "code": "limit_now",
        "params": {"queue": "a", "used_milli": 4000, "limit_milli": 4000, "wanted_milli": 4000},
        "help": "wait_for_queue",
    }
    job = world.submit()
    Job.objects.filter(id=job.id).update(reason=reason)
    client = browser_of(world.cast.owner)
    page = text_of(client.get(f"/jobs/{job.id}"))
    assert "Why it waits" in page
    assert "What would help" in page
    for address in ("/jobs", "/queues", "/"):
        assert "4 of 4 accelerators are in use" in text_of(client.get(address))


def test_a_failed_job_tells_what_failed(world: World) -> None:
    """The worker, the node, the exit code and the last lines."""
    job, attempt = world.running()
    world.end(
        attempt,
        EndCause.PROGRAM_FAILED,
        exit_code=3,
        rank=0,
        node="n1",
        last_lines=("boom <script>",),
    )
    page = text_of(browser_of(world.cast.owner).get(f"/jobs/{job.id}"))
    assert "left with exit code 3" in page
    assert "boom &lt;script&gt;" in page


def test_times_are_shown_in_the_readers_zone_with_its_name(world: World) -> None:
    """12:00 in UTC is 20:00 in Shanghai."""
    job = world.submit()
    User.objects.filter(id=world.cast.owner.id).update(time_zone="Asia/Shanghai")
    page = text_of(browser_of(world.cast.owner).get(f"/jobs/{job.id}"))
    assert "Asia/Shanghai (UTC+8)" in page
    assert "20:00" in page


def test_an_accounts_language_wins_over_the_browsers(world: World) -> None:
    """It was set on the profile page."""
    User.objects.filter(id=world.cast.owner.id).update(language="zh-hans")
    assert '<html lang="zh-hans"' in text_of(browser_of(world.cast.owner, language="en").get("/jobs"))
