"""Two teams to play with: users of every role, queues that share 16 accelerators; credentials in a file."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction

from accounts.models import Role, Team, User
from accounts.services import create_team, create_token, create_user, set_membership
from portal.data_folder import write_private_json
from quotas.services import create_queue

MILLI = 1000
GUARANTEE = 8 * MILLI  # of each team, half of the local cluster
LIMIT = 16 * MILLI  # and each may borrow what the other does not use


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the demo: a role, not a character."""

    username: str
    display_name: str
    role: Role


@dataclass(frozen=True, slots=True)
class DemoTeam:
    """A team with its people and its queues, the root queue first."""

    slug: str
    display_name: str
    people: tuple[Person, ...]
    queues: tuple[str, ...]


def _people(slug: str, title: str) -> tuple[Person, ...]:
    return (
        Person(f"{slug}-lead", f"{title} lead", Role.TEAM_ADMIN),
        Person(f"{slug}-member", f"{title} member", Role.MEMBER),
        Person(f"{slug}-viewer", f"{title} viewer", Role.VIEWER),
    )


TEAMS = (
    DemoTeam("research", "Research", _people("research", "Research"), ("research", "research/nlp")),
    DemoTeam("product", "Product", _people("product", "Product"), ("product", "product/search")),
)


@transaction.atomic
def seed_demo(file: Path, *, admin: User, public_url: str, now: datetime) -> bool:
    """Make it all and write `file`; False if it was there already."""
    if Team.objects.filter(slug=TEAMS[0].slug).exists():
        return False
    teams = [_make_team(team, admin=admin, now=now) for team in TEAMS]
    write_private_json(file, {"url": public_url, "teams": teams})
    return True


def _make_team(plan: DemoTeam, *, admin: User, now: datetime) -> dict[str, Any]:
    team = create_team(slug=plan.slug, display_name=plan.display_name, actor=admin, now=now)
    for path in plan.queues:
        root = path == plan.queues[0]
        create_queue(
            user=admin,
            path=path,
            team=team,
            guarantee_milli=GUARANTEE if root else 0,
            limit_milli=LIMIT if root else None,
            now=now,
        )
    users = [_make_person(person, team=team, admin=admin, now=now) for person in plan.people]
    return {"slug": plan.slug, "name": plan.display_name, "queues": list(plan.queues), "users": users}


def _make_person(person: Person, *, team: Team, admin: User, now: datetime) -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    user = create_user(
        username=person.username, password=password, display_name=person.display_name, actor=admin, now=now
    )
    set_membership(team=team, user=user, role=person.role, actor=admin, now=now)
    _token, secret = create_token(user=user, name="demo", expires_at=None, now=now)
    return {
        "username": person.username,
        "role": person.role,
        "team": team.slug,
        "password": password,
        "token": secret,
    }
