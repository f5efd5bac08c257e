"""The command line in two languages: nothing untranslated, nothing translated in vain, every value kept."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from gangline import main
from gangline.chinese import TEXTS
from gangline.words import say
from tests.cli.conftest import Command
from tests.cli.recording_portal import RecordingPortal, page

SOURCE = Path(main.__file__).parent


def spoken() -> Iterator[str]:
    """Every text that the code says or marks, and every title of a column."""
    for path in SOURCE.rglob("*.py"):
        if "skeleton" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("say", "mark", "Column"):
                yield from (str(first.value) for first in node.args[:1] if isinstance(first, ast.Constant))


def helped(command: Any) -> Iterator[str]:
    """The help of a command, of its parameters and of everything below it, and the titles of their groups."""
    for subject in (command, *command.params):
        yield " ".join((getattr(subject, "help", None) or "").split())
        panel = getattr(subject, "rich_help_panel", None)
        yield panel if isinstance(panel, str) else ""
    for child in getattr(command, "commands", {}).values():
        yield from helped(child)


def test_every_text_has_a_translation_and_every_translation_a_text() -> None:
    """So that neither is forgotten."""
    said = {*spoken(), *helped(get_command(main.app))} - {""}
    assert said - TEXTS.keys() == set()
    assert TEXTS.keys() - said == set()


def test_translations_keep_their_values_and_commands() -> None:
    """A lost `{path}` would hide what is wrong; a changed command would not work."""
    for pattern in (r"\{[^}]+\}", r"`[^`]+`", r"--\w+|GANGLINE_\w+|DEMO_EXIT=1"):
        for english, chinese in TEXTS.items():
            assert sorted(re.findall(pattern, english)) == sorted(re.findall(pattern, chinese)), english


def test_a_chinese_terminal_gets_chinese_help_and_messages(
    gangline: Command, portal: RecordingPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any option."""
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    portal.on("GET", "jobs", page())
    assert "提交作业" in gangline("--help").out
    assert "没有给出作业。" in gangline("submit").err
    assert "名称" in gangline("ps").out
    assert portal.requests[-1].headers["accept-language"] == "zh-CN, zh;q=0.9, en;q=0.5"


def test_braces_in_values_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be called so."""
    monkeypatch.setenv("LANG", "C")
    assert say("wrote {path}", path="{x}.yaml") == "wrote {x}.yaml"
