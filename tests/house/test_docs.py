"""The documents are in step with the code."""

import re
import subprocess
from pathlib import Path

import polib
import pytest

from portal.reference import pages
from tests.support.code import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/*.po"))


@pytest.mark.parametrize("name", sorted(pages()))
def test_generated_pages_are_what_the_code_says(name: str) -> None:
    """`make docs` writes them."""
    assert (ROOT / "docs" / "reference" / name).read_text() == pages()[name], "run `make docs`"


def test_every_link_leads_somewhere() -> None:
    """Links between files of the checkout."""
    dead = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents()
        for target in LINK.findall(document.read_text())
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert dead == []


def test_the_readme_stays_short() -> None:
    """It is the front door, not the house."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_decisions_stay_short() -> None:
    """A decision is why, what else there was, and what follows."""
    long = [
        path.name
        for path in (ROOT / "docs" / "decisions").glob("*.md")
        if len(path.read_text().splitlines()) > 60
    ]
    assert long == []


def test_every_make_target_in_the_documents_exists() -> None:
    """`make` commands that a reader is told to type."""
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = {
        target
        for document in documents()
        for target in re.findall(r"`(?:[A-Z_]+=\S+ )?make ([a-z0-9]+)", document.read_text())
    }
    assert told <= targets


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_compiled_catalogue_is_in_step(path: Path) -> None:
    """The .mo that Django reads says what the .po says, and nothing is untranslated."""
    source, compiled = polib.pofile(str(path)), polib.mofile(str(path.with_suffix(".mo")))
    said = {(entry.msgctxt, entry.msgid): entry.msgstr for entry in source.translated_entries()}
    assert {(entry.msgctxt, entry.msgid): entry.msgstr for entry in compiled} == said
    assert [entry.msgid for entry in source.untranslated_entries() if not entry.obsolete] == []
    assert [entry.msgid for entry in source.fuzzy_entries()] == []


def documents() -> list[Path]:
    """Every Markdown file that is kept."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]
