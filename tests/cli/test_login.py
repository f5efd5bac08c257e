"""`gangline login`: a token instead of a password, kept where only its owner can read it."""

import stat
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Command
from tests.cli.recording_portal import RecordingPortal, refusal

ME = {"username": "wei", "is_platform_admin": False, "teams": [{"slug": "vision", "role": "member"}]}


@pytest.fixture
def profile(gangline: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the profile is written, with nothing in the environment to go before it."""
    monkeypatch.delenv("GANGLINE_URL")
    monkeypatch.delenv("GANGLINE_TOKEN")
    return tmp_path / ".config" / "gangline" / "config.yaml"


def test_a_password_becomes_a_token_in_a_file_of_the_owner_alone(
    gangline: Command, portal: RecordingPortal, profile: Path
) -> None:
    """The password itself is kept nowhere."""
    portal.on("POST", "login", {"token": "glt_new"})
    portal.on("GET", "me", ME)
    result = gangline("login", portal.url + "/", "-u", "wei", stdin="pass word\n")
    assert result.code == 0
    assert portal.of("POST", "login")[0].json()["password"] == "pass word"
    assert yaml.safe_load(profile.read_text()) == {"url": portal.url, "token": "glt_new"}
    assert stat.S_IMODE(profile.stat().st_mode) == 0o600
    assert "pass word" not in profile.read_text() + result.out + result.err


def test_later_commands_use_the_saved_profile(
    gangline: Command, portal: RecordingPortal, profile: Path
) -> None:
    """Address and token come from the file."""
    portal.on("GET", "me", ME)
    gangline("login", portal.url, "--token", "-", stdin="glt_given\n")
    result = gangline("whoami")
    assert "vision (member)" in result.out
    assert portal.requests[-1].headers["authorization"] == "Bearer glt_given"


def test_a_wrong_password_changes_nothing(gangline: Command, portal: RecordingPortal, profile: Path) -> None:
    """What was saved before stays."""
    portal.on("POST", "login", refusal("wrong_password", "Name or password is wrong.", 401))
    assert gangline("login", portal.url, "-u", "wei", stdin="x\n").code == 3
    assert not profile.exists()


def test_a_token_that_the_portal_does_not_know_is_not_saved(
    gangline: Command, portal: RecordingPortal, profile: Path
) -> None:
    """It is tried before it is kept."""
    portal.on("GET", "me", refusal("not_authenticated", "Unknown token.", 401))
    assert gangline("login", portal.url, "--token", "glt_wrong").code == 3
    assert not profile.exists()


def test_an_unreadable_profile_is_named(gangline: Command, profile: Path) -> None:
    """With the way out."""
    profile.parent.mkdir(parents=True)
    profile.write_text("- no\n- mapping\n")
    result = gangline("ps")
    assert (result.code, str(profile) in result.err) == (2, True)


def test_an_address_without_a_scheme_is_refused(gangline: Command, profile: Path) -> None:
    """Guessing http or https could send a password in the clear."""
    assert gangline("login", "portal.example", "--token", "x").code == 2
