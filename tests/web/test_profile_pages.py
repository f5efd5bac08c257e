"""Logging in and out, the profile, tokens that are shown once, the switches of the frame."""

import pytest
from django.contrib.auth.hashers import make_password

from accounts.models import ApiToken, User
from accounts.services.tokens import authenticate_token
from tests.accounts.builders import NOW, PASSWORD
from tests.jobs.builders import World
from tests.web.browsing import browser_of, text_of


@pytest.fixture
def owner(world: World) -> User:
    """A user who has a password."""
    User.objects.filter(id=world.cast.owner.id).update(password=make_password(PASSWORD))
    return User.objects.get(id=world.cast.owner.id)


def test_a_right_password_leads_to_where_one_wanted(owner: User) -> None:
    """And the first log-in takes the browser's time zone over."""
    fields = {"username": "owner", "password": PASSWORD, "next": "/jobs", "time_zone": "Asia/Shanghai"}
    response = browser_of(None).post("/login", fields)
    assert response.headers["Location"] == "/jobs"
    owner.refresh_from_db()
    assert owner.time_zone == "Asia/Shanghai"


@pytest.mark.parametrize("zone", ["Nowhere/At-All", "../../etc/passwd", "x" * 500])
def test_an_unknown_zone_of_the_browser_is_passed_over(owner: User, zone: str) -> None:
    """It is no reason to refuse the log-in."""
    fields = {"username": "owner", "password": PASSWORD, "time_zone": zone}
    assert browser_of(None).post("/login", fields).status_code == 302
    owner.refresh_from_db()
    assert owner.time_zone == ""


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_way_back_stays_in_the_portal(owner: User, target: str) -> None:
    """For the log-in and for the switches."""
    fields = {"username": "owner", "password": PASSWORD, "next": target}
    assert browser_of(None).post("/login", fields).headers["Location"] == "/"
    switched = browser_of(None).post("/preferences", {"theme": "dark", "next": target})
    assert switched.headers["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_name(owner: User) -> None:
    """Never which of the two was wrong."""
    page = text_of(browser_of(None).post("/login", {"username": "owner", "password": "no"}))
    assert "do not match an active account" in page
    assert 'value="owner"' in page


def test_logging_out_ends_the_session(owner: User) -> None:
    """By a form, not by a link."""
    client = browser_of(owner)
    assert client.get("/logout").status_code == 405
    assert client.post("/logout").status_code == 302
    assert client.get("/").status_code == 302


def test_language_and_colours_are_switched_also_before_logging_in(world: World) -> None:
    """By cookies; the account keeps the language."""
    client = browser_of(None)
    client.post("/preferences", {"language": "zh-hans", "theme": "dark"})
    page = text_of(client.get("/login"))
    assert '<html lang="zh-hans" data-theme="dark">' in page
    client.post("/preferences", {"language": "tlh", "theme": "pink"})
    assert '<html lang="zh-hans" data-theme="dark">' in text_of(client.get("/login"))
    browser_of(world.cast.owner).post("/preferences", {"language": "zh-hans"})
    world.cast.owner.refresh_from_db()
    assert world.cast.owner.language == "zh-hans"


def test_a_strange_theme_cookie_is_not_echoed(world: World) -> None:
    """Only our own three words reach the page."""
    client = browser_of(None)
    client.cookies["theme"] = '"><script>'
    assert 'data-theme="auto"' in text_of(client.get("/login"))


def test_the_profile_is_saved(owner: User) -> None:
    """And shown in the chosen language from the next page on."""
    client = browser_of(owner)
    fields = {"display_name": "实验室 <b>", "language": "zh-hans", "time_zone": "Asia/Shanghai"}
    page = client.post("/profile/save", fields, follow=True).content.decode()
    assert '<html lang="zh-hans"' in page
    assert "实验室 &lt;b&gt;" in page
    refused = client.post("/profile/save", {**fields, "time_zone": "Mars/Olympus"})
    assert refused.status_code == 422
    owner.refresh_from_db()
    assert owner.time_zone == "Asia/Shanghai"


def test_the_password_is_changed_with_the_present_one(owner: User) -> None:
    """This browser stays logged in, another one does not."""
    here, elsewhere = browser_of(owner), browser_of(owner)
    wrong = here.post("/profile/password", {"current": "no", "password": "another uncommon phrase"})
    assert wrong.status_code == 422
    here.post("/profile/password", {"current": PASSWORD, "password": "another uncommon phrase"})
    assert here.get("/profile").status_code == 200
    assert elsewhere.get("/profile").status_code == 302


def test_a_tokens_secret_is_shown_once(owner: User) -> None:
    """In the answer that made it, and nowhere else."""
    client = browser_of(owner)
    made = client.post("/profile/tokens", {"name": "laptop", "days": "30"}, headers={"hx-request": "true"})
    secret = made.context["secret"]
    assert secret in made.content.decode()
    assert authenticate_token(secret, now=NOW) == owner
    later = text_of(client.get("/profile"))
    assert "laptop" in later
    assert secret not in later
    assert made.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_a_token_needs_a_name_and_may_be_for_ever(owner: User) -> None:
    """The reason is at the form."""
    client = browser_of(owner)
    assert "error" in text_of(client.post("/profile/tokens", {"name": " "}, headers={"hx-request": "true"}))
    assert not ApiToken.objects.exists()
    client.post("/profile/tokens", {"name": "CI", "days": ""})
    assert ApiToken.objects.get().expires_at is None


def test_one_revokes_ones_own_tokens_only(world: World, owner: User) -> None:
    """Another's is not there."""
    client = browser_of(owner)
    secret = client.post("/profile/tokens", {"name": "CI"}).context["secret"]
    token = ApiToken.objects.get()
    address = f"/profile/tokens/{token.id}/revoke"
    assert browser_of(world.cast.teammate).post(address).status_code == 404
    assert client.post(address).status_code == 302
    assert authenticate_token(secret, now=NOW) is None
