"""Every sentence that a reader may see is there in Chinese, and the compiled catalogue says the same."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
CATALOGUE = polib.pofile(str(FOLDER / "django.po"))
SOURCES = [
    path
    for folder in ("jobs", "quotas", "platform")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "gangline" not in path.relative_to(ROOT).parts and "migrations" not in path.parts
]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# Which argument of each function is the text (with a context before it, in `pgettext`).
TEXT_ARGUMENT = {"_": 0, "gettext": 0, "gettext_lazy": 0, "ngettext": 0, "ngettext_lazy": 0, "pgettext": 1}
PLACEHOLDER = re.compile(r"%\((\w+)\)0?\d*[sd]|%%")
SAME_IN_BOTH = {"MFU", "Conductor", "Rank %(rank)s", "must be rank-<number>.log or rank-<number>.events"}


def texts_in_python(source: str) -> Iterator[str]:
    """The texts that a module marks for translation."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEXT_ARGUMENT:
            position = TEXT_ARGUMENT[node.func.id]
            argument = node.args[position] if len(node.args) > position else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def texts_in_template(source: str) -> Iterator[str]:
    """The texts that a template marks for translation."""
    for match in re.finditer(
        r"""\b(?:_|gettext|ngettext)\((u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))""", templatize(source)
    ):
        yield ast.literal_eval(match[1])


def test_nothing_is_untranslated_fuzzy_or_left_over() -> None:
    """Every entry has its translation."""
    assert [entry.msgid for entry in CATALOGUE.untranslated_entries()] == []
    assert [entry.msgid for entry in CATALOGUE.fuzzy_entries()] == []
    assert [entry.msgid for entry in CATALOGUE.obsolete_entries()] == []


def test_the_compiled_catalogue_is_in_step() -> None:
    """`msgfmt` was run after the last change; newcomers need no gettext."""
    compiled = polib.mofile(str(FOLDER / "django.mo"))
    shown = {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in compiled}
    written = {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in CATALOGUE}
    assert shown == written


@pytest.mark.parametrize("path", [*SOURCES, *TEMPLATES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_marked_text_is_in_the_catalogue(path: Path) -> None:
    """A new sentence without a translation fails here."""
    source = path.read_text()
    texts = texts_in_template(source) if path.suffix == ".html" else texts_in_python(source)
    known = {entry.msgid for entry in CATALOGUE}
    assert [text for text in texts if text not in known] == []


def test_a_translation_has_the_same_placeholders() -> None:
    """A missing one would lose a number, a new one would fail."""
    texts = {entry.msgid: entry.msgstr or entry.msgstr_plural[0] for entry in CATALOGUE}
    placeholders = {
        msgid: (set(PLACEHOLDER.findall(msgid)), set(PLACEHOLDER.findall(text)))
        for msgid, text in texts.items()
    }
    assert {msgid: found for msgid, found in placeholders.items() if found[0] != found[1]} == {}


def test_translations_are_chinese() -> None:
    """Apart from names that stay as they are."""
    chinese = re.compile(r"[\u4e00-\u9fff]")
    texts = {entry.msgid: entry.msgstr or entry.msgstr_plural[0] for entry in CATALOGUE}
    left = {msgid for msgid, text in texts.items() if not chinese.search(text)}
    assert left <= SAME_IN_BOTH | {"auto, 100 or 10m"}


def test_chinese_sentences_use_chinese_punctuation() -> None:
    """No half-width comma, colon, semicolon or question mark behind a Chinese character."""
    wrong = re.compile(r"[\u4e00-\u9fff][,;:?!]")
    texts = [entry.msgstr or entry.msgstr_plural[0] for entry in CATALOGUE]
    assert [text for text in texts if wrong.search(text)] == []
