"""Logging in, and the slowing down of guesses."""

from datetime import timedelta

import pytest
from django.test import RequestFactory

from accounts.errors import LoginRefused, TooManyAttempts
from accounts.forms import LoginForm
from accounts.models import AuditEntry
from accounts.services import authenticate_token, check_password, log_in
from accounts.services.login import LOGIN_TOKEN_LIFE, MOST_PER_NAME_AND_ADDRESS, WINDOW
from tests.accounts.builders import NOW, PASSWORD, Cast

HERE, ELSEWHERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def known(cast: Cast) -> Cast:
    """The cast, with a password for the owner."""
    cast.owner.set_password(PASSWORD)
    cast.owner.save()
    return cast


def fail(times: int, *, username: str = "owner", address: str = HERE) -> None:
    """Guess wrongly."""
    for _time in range(times):
        with pytest.raises(LoginRefused):
            check_password(username=username, password="guess", address=address, now=NOW)


def test_name_and_password_give_a_token(known: Cast) -> None:
    """For 90 days."""
    token, secret = log_in(username="owner", password=PASSWORD, token_name="laptop", address=HERE, now=NOW)
    assert token.expires_at == NOW + LOGIN_TOKEN_LIFE
    assert authenticate_token(secret, now=NOW) == known.owner
    assert AuditEntry.objects.filter(action="logged_in", actor=known.owner, address=HERE).exists()


@pytest.mark.parametrize("username", ["owner", "nobody", "", "own\0er", "own\ud800er", "x" * 5000])
def test_a_failure_reads_the_same_for_any_name_and_is_recorded(known: Cast, username: str) -> None:
    """Nobody learns which names there are."""
    with pytest.raises(LoginRefused) as refused:
        check_password(username=username, password="guess", address=HERE, now=NOW)
    assert refused.value.message == (
        "The name or the password is not right, or the account is switched off. Check both."
    )
    entry = AuditEntry.objects.get(action="login_failed")
    assert entry.actor is None
    assert entry.address == HERE


def test_a_switched_off_account_reads_the_same(known: Cast) -> None:
    """With the right password too."""
    known.owner.is_active = False
    known.owner.save()
    with pytest.raises(LoginRefused):
        check_password(username="owner", password=PASSWORD, address=HERE, now=NOW)


def test_after_ten_failures_even_the_right_password_waits(known: Cast) -> None:
    """And the wait is told."""
    fail(MOST_PER_NAME_AND_ADDRESS)
    with pytest.raises(TooManyAttempts) as refused:
        check_password(username="owner", password=PASSWORD, address=HERE, now=NOW + timedelta(seconds=60))
    assert refused.value.params["retry_after"] == 240
    assert refused.value.message == "There were too many failed logins. Try again in 240 seconds."


def test_a_refused_try_does_not_lengthen_the_wait(known: Cast) -> None:
    """It is not written down, so the log does not grow with the attack either."""
    fail(MOST_PER_NAME_AND_ADDRESS)
    with pytest.raises(TooManyAttempts):
        check_password(username="owner", password="guess", address=HERE, now=NOW)
    assert AuditEntry.objects.filter(action="login_failed").count() == MOST_PER_NAME_AND_ADDRESS
    assert check_password(username="owner", password=PASSWORD, address=HERE, now=NOW + WINDOW) == known.owner


def test_somebody_elses_guesses_do_not_lock_the_owner_out(known: Cast) -> None:
    """From another address."""
    fail(MOST_PER_NAME_AND_ADDRESS, address=ELSEWHERE)
    assert check_password(username="owner", password=PASSWORD, address=HERE, now=NOW) == known.owner


def test_one_address_cannot_try_many_names(known: Cast) -> None:
    """Ten each, until a hundred."""
    for number in range(10):
        fail(10, username=f"name-{number}")
    with pytest.raises(TooManyAttempts):
        check_password(username="owner", password=PASSWORD, address=HERE, now=NOW)


def test_the_login_pages_form_asks_the_same_service(known: Cast) -> None:
    """Same sentence, same record."""
    request = RequestFactory().post("/login", REMOTE_ADDR=HERE)
    form = LoginForm(request, data={"username": "owner", "password": "guess"})
    assert not form.is_valid()
    assert form.non_field_errors() == [str(LoginRefused().message)]
    assert AuditEntry.objects.filter(action="login_failed", address=HERE).count() == 1
    good = LoginForm(request, data={"username": "owner", "password": PASSWORD})
    assert good.is_valid()
    assert good.get_user() == known.owner
