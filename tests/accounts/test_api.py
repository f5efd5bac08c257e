"""The REST face, through the real addresses."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from accounts.services import create_token
from tests.accounts.builders import PASSWORD, Cast, client_of


def test_login_gives_a_token_that_opens_me(cast: Cast, client: Client) -> None:
    """As the command line does it."""
    cast.owner.set_password(PASSWORD)
    cast.owner.save()
    answer = client.post(
        "/api/v1/login",
        {"username": "owner", "password": PASSWORD, "token_name": "laptop"},
        content_type="application/json",
    )
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    secret = answer.json()["token"]
    me = client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert me.json()["username"] == "owner"
    assert me.json()["teams"] == [{"slug": "team-a", "display_name": "team-a", "role": "member"}]


def test_a_wrong_password_is_401_in_our_shape(cast: Cast, client: Client) -> None:
    """With the sentence and no hint which of both was wrong."""
    answer = client.post(
        "/api/v1/login", {"username": "owner", "password": "guess"}, content_type="application/json"
    )
    assert answer.status_code == 401
    assert answer.json()["code"] == "login_refused"


def test_guessing_is_answered_429_with_retry_after(cast: Cast, client: Client) -> None:
    """After ten tries."""
    body = {"username": "nobody", "password": "guess"}
    answers = [client.post("/api/v1/login", body, content_type="application/json") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 300


def test_a_revoked_token_is_401_with_a_challenge(cast: Cast, client: Client) -> None:
    """Also where a session would do."""
    client.force_login(cast.owner)
    answer = client.get("/api/v1/me", headers={"Authorization": "Bearer glt_gone"})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_nobody_is_401(cast: Cast, client: Client) -> None:
    """Every address but the login."""
    for path in ("me", "tokens", "teams", "users", "audit", "teams/team-a/members"):
        assert client.get(f"/api/v1/{path}").status_code == 401


def test_a_token_is_made_listed_and_revoked(cast: Cast) -> None:
    """The secret is in one answer only."""
    api = client_of(cast.owner)
    end = timezone.now() + timedelta(days=3)
    made = api.post("/api/v1/tokens", {"name": "ci", "expires_at": end.isoformat()}, format="json")
    assert made.status_code == 201
    listed = api.get("/api/v1/tokens").json()
    assert [token["name"] for token in listed["results"]] == ["ci"]
    assert made.json()["token"] not in str(listed)
    assert api.delete(f"/api/v1/tokens/{made.json()['id']}").status_code == 204
    assert api.get("/api/v1/tokens").json() == {"results": [], "next": None}


def test_tokens_are_ones_own_business(cast: Cast) -> None:
    """Another's is not found."""
    token, _secret = create_token(user=cast.owner, name="t", expires_at=None, now=timezone.now())
    assert client_of(cast.platform_admin).delete(f"/api/v1/tokens/{token.id}").status_code == 404


def test_me_takes_language_and_zone(cast: Cast) -> None:
    """And refuses what does not exist, by path."""
    api = client_of(cast.owner)
    assert api.patch("/api/v1/me", {"language": "zh-hans"}, format="json").json()["language"] == "zh-hans"
    refused = api.patch("/api/v1/me", {"time_zone": "Nowhere"}, format="json")
    assert refused.status_code == 422
    assert [item["path"] for item in refused.json()["details"]] == ["time_zone"]


def test_teams_show_the_readers_role(cast: Cast) -> None:
    """All teams to a platform admin."""
    assert client_of(cast.viewer).get("/api/v1/teams").json()["results"] == [
        {"slug": "team-a", "display_name": "team-a", "role": "viewer"}
    ]
    roles = [team["role"] for team in client_of(cast.platform_admin).get("/api/v1/teams").json()["results"]]
    assert roles == ["team_admin", "team_admin"]


def test_members_are_managed_by_the_teams_admin(cast: Cast) -> None:
    """PUT sets, DELETE takes out."""
    api = client_of(cast.team_admin)
    path = "/api/v1/teams/team-a/members/outsider"
    assert api.put(path, {"role": "viewer"}, format="json").json()["role"] == "viewer"
    names = [member["username"] for member in api.get("/api/v1/teams/team-a/members").json()["results"]]
    assert names == ["outsider", "owner", "team-admin", "teammate", "viewer"]
    assert api.delete(path).status_code == 204
    assert api.delete(path).status_code == 404


@pytest.mark.parametrize(("role", "status"), [("owner", 403), ("viewer", 403), ("outsider", 404)])
def test_others_do_not_manage_members(cast: Cast, role: str, status: int) -> None:
    """Members are told so, outsiders see no team."""
    api = client_of(getattr(cast, role))
    answer = api.put("/api/v1/teams/team-a/members/owner", {"role": "team_admin"}, format="json")
    assert answer.status_code == status


def test_an_unknown_role_is_refused_by_path(cast: Cast) -> None:
    """With what is allowed."""
    api = client_of(cast.team_admin)
    answer = api.put("/api/v1/teams/team-a/members/owner", {"role": "king"}, format="json")
    assert answer.status_code == 422
    assert answer.json()["details"][0]["path"] == "role"


def test_users_are_the_platform_admins(cast: Cast) -> None:
    """Made, switched off, given a password."""
    api = client_of(cast.platform_admin)
    made = api.post("/api/v1/users", {"username": "新人", "password": PASSWORD}, format="json")
    assert made.status_code == 201
    off = api.patch("/api/v1/users/新人", {"is_active": False, "password": PASSWORD + "!"}, format="json")
    assert off.json()["is_active"] is False
    assert User.objects.get(username="新人").check_password(PASSWORD + "!")
    assert client_of(cast.team_admin).get("/api/v1/users").status_code == 403
    assert client_of(cast.team_admin).get("/api/v1/users/owner").status_code == 403


def test_a_change_of_a_user_is_whole_or_not_at_all(cast: Cast) -> None:
    """A bad password keeps the account on."""
    api = client_of(cast.platform_admin)
    answer = api.patch("/api/v1/users/owner", {"is_active": False, "password": "x"}, format="json")
    assert answer.status_code == 422
    assert User.objects.get(username="owner").is_active


@pytest.mark.parametrize("username", ["a b", "", "x" * 151, "a\0b"])
def test_a_bad_user_name_is_422(cast: Cast, username: str) -> None:
    """Never a 500."""
    api = client_of(cast.platform_admin)
    answer = api.post("/api/v1/users", {"username": username, "password": PASSWORD}, format="json")
    assert answer.status_code == 422
    assert "username" in [item["path"] for item in answer.json()["details"]]


def test_the_audit_is_read_by_team(cast: Cast) -> None:
    """Through the address."""
    client_of(cast.team_admin).put("/api/v1/teams/team-a/members/teammate", {"role": "viewer"}, format="json")
    entry = client_of(cast.team_admin).get("/api/v1/audit?team=team-a").json()["results"][0]
    assert (entry["actor"], entry["action"], entry["team"]) == ("team-admin", "membership_set", "team-a")
    assert entry["address"] == "127.0.0.1"
    assert client_of(cast.owner).get("/api/v1/audit?team=team-a").status_code == 403
    assert client_of(cast.outsider).get("/api/v1/audit?team=team-a").status_code == 404
    assert client_of(cast.platform_admin).get("/api/v1/audit").json()["results"][0]["id"] == entry["id"]
    assert AuditEntry.objects.count() == 1
