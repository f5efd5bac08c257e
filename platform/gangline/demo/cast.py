"""Who plays in the demo: a member of each team, and the admin, as the supervisor's seed made them."""

from dataclasses import dataclass

from gangline.demo.evidence import Json


@dataclass(frozen=True, slots=True)
class Player:
    """A user with password, API token, and the queue of their team."""

    username: str
    password: str
    token: str
    queue: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody that the demo prints or uses."""

    admin_name: str
    admin_password: str
    team_a: Player
    team_b: Player


def read_cast(admin: Json, seed: Json) -> Cast:
    """From `admin.json` and `demo.json` of the supervisor's data folder."""
    member_a, member_b = (_player(team) for team in seed["teams"][:2])
    return Cast(admin["username"], admin["password"], member_a, member_b)


def _player(team: Json) -> Player:
    user = next(user for user in team["users"] if user["role"] == "member")
    return Player(user["username"], user["password"], user["token"], queue=team["queues"][0])
