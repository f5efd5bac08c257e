"""The story of the demo: a job borrows the whole cluster, gives it back when asked, and loses nothing."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gangline.board import Board
from gangline.client import Portal
from gangline.demo import jobs
from gangline.demo.local_platform import LocalPlatform
from gangline.demo.machine import num_cpus
from gangline.errors import NotReachable
from gangline.sight import Sight, look
from gangline.words import say

POLL_SECONDS = 0.5
LONGEST_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Team:
    """One of the two teams: its queue, and the portal as one of its members sees it."""

    queue: str
    portal: Portal


@dataclass(frozen=True, slots=True)
class Story:
    """The ids of the jobs, in the order in which they were submitted."""

    pretraining: str
    guaranteed: str
    urgent: str
    last_steps: Mapping[int, int]  # of the pretraining: number of an attempt to the last step seen of it


@dataclass(slots=True)
class Stage:
    """Submits jobs and looks at all of them until something is true."""

    platform: LocalPlatform
    board: Board
    last_steps: dict[str, dict[int, int]] = field(default_factory=dict)
    _portals: dict[str, Portal] = field(default_factory=dict)
    _sights: dict[str, Sight] = field(default_factory=dict)
    _deadline: float = field(default_factory=lambda: time.monotonic() + LONGEST_SECONDS)

    def submit(self, team: Team, document: jobs.Json) -> str:
        """Submit a job as the team's member."""
        job_id = str(team.portal.post("jobs", document)["id"])
        self._portals[job_id] = team.portal
        self.board.say(
            say("submitted {name} to queue {queue}: {id}", name=document["name"], queue=team.queue, id=job_id)
        )
        self._look()
        return job_id

    def until(self, is_reached: Callable[[dict[str, Sight]], bool]) -> None:
        """Show the jobs until the condition holds; a platform that dies or stands still ends the demo."""
        while not is_reached(self._sights):
            if time.monotonic() > self._deadline:
                raise NotReachable(
                    say("The demo did not end within {seconds:.0f} seconds.", seconds=LONGEST_SECONDS)
                )
            self.platform.check_alive()
            time.sleep(POLL_SECONDS)
            self._look()

    def _look(self) -> None:
        self._sights = {job_id: look(portal, job_id) for job_id, portal in self._portals.items()}
        for job_id, sight in self._sights.items():
            self.last_steps.setdefault(job_id, {})[sight.job["num_attempts"]] = sight.step
        self.board.show(self._sights.values())


def play(stage: Stage, team_a: Team, team_b: Team) -> Story:
    """Run the three jobs to their ends. Whether it went as it should is for `verdict` to say."""
    stage.until(lambda _: _num_free(team_a.portal) == jobs.CLUSTER_SLOTS)  # its agents are still starting
    first = stage.submit(team_a, jobs.pretraining(team_a.queue, num_cpus=num_cpus()))
    stage.until(lambda seen: _has_come_to(seen[first], jobs.RECLAIM_AT_STEP))
    stage.board.say(say("queue {queue} now asks for what it is guaranteed", queue=team_b.queue))
    second = stage.submit(team_b, jobs.within_guarantee(team_b.queue))
    stage.until(lambda seen: seen[second].is_ended)
    stage.board.say(say("the slots are free again: the first job resumes where it left"))
    come_back_to = jobs.RECLAIM_AT_STEP + jobs.URGENT_AFTER_STEPS
    stage.until(lambda seen: _has_come_to(seen[first], come_back_to) and _runs_or_ended(seen[first]))
    stage.board.say(say("an urgent job goes first in queue {queue}", queue=team_a.queue))
    third = stage.submit(team_a, jobs.urgent(team_a.queue))
    stage.until(lambda seen: all(sight.is_ended for sight in seen.values()))
    return Story(first, second, third, stage.last_steps[first])


def _num_free(portal: Portal) -> int:
    return int(portal.get("cluster/utilisation")["free"])


def _has_come_to(sight: Sight, step: int) -> bool:
    return sight.is_ended or sight.step >= step


def _runs_or_ended(sight: Sight) -> bool:
    return sight.is_ended or sight.state == "running"
