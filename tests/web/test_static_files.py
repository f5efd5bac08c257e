"""Vendored files are the released ones; pages obey the content policy; icons exist."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
ROW = re.compile(r"^\| `(?P<file>[^`]+)` \|.*\| `(?P<sha>[0-9a-f]{64})` \|$", re.MULTILINE)
LISTED = dict(ROW.findall((VENDOR / "README.md").read_text()))


def test_every_vendored_file_is_listed_with_its_licence() -> None:
    """Nothing slips in without a version, a licence and a checksum."""
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    unlisted = {name for name in files if not name.endswith(("LICENSE", "README.md"))}
    assert unlisted == set(LISTED)
    for name in LISTED:
        assert (VENDOR / name).with_name("LICENSE").is_file()


@pytest.mark.parametrize("name", sorted(LISTED))
def test_a_vendored_file_is_unchanged(name: str) -> None:
    """By its SHA-256."""
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == LISTED[name]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_has_no_inline_script_or_style(path: Path) -> None:
    """The content policy would block it."""
    source = path.read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|hx-on|javascript:|\|safe\b", source)
    assert not re.search(r"<script(?![^>]*\ssrc=)", source)
    assert not re.search(r"https?://", source)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_puts_nothing_in_as_markup(path: Path) -> None:
    """Text from the server goes in as text."""
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text()
    )


def test_every_icon_that_is_used_exists() -> None:
    """And every one that exists is used."""
    drawn = set(re.findall(r'symbol id="([\w-]+)"', (ROOT / "static/icons/sprite.svg").read_text()))
    used = {name for path in TEMPLATES for name in re.findall(r'{% icon "([\w-]+)"', path.read_text())}
    assert used == drawn


def test_every_loaded_static_file_exists() -> None:
    """Names in templates are real files."""
    names = {name for path in TEMPLATES for name in re.findall(r"{% static '([^']+)'", path.read_text())}
    assert names
    for name in names:
        assert (ROOT / "static" / name).is_file(), name


def test_colours_are_named_in_one_place() -> None:
    """Everything else refers to them, so that light and dark stay in step."""
    literal = re.compile(r"(?<![\w-])#[0-9a-fA-F]{3,8}\b")
    allowed = {"#ffffff", "#bf2a2a", "#d64545", "#0e1116"}
    for sheet in sorted((ROOT / "static" / "css").glob("*.css")):
        if sheet.name != "tokens.css":
            assert set(literal.findall(sheet.read_text())) <= allowed, sheet.name
