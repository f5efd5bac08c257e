"""Turns what a user typed (a job file, `key=value` pairs) into the document that the portal takes."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gangline import yaml12
from gangline.errors import BadUsage
from gangline.words import say

Json = dict[str, Any]
TEXT_KEYS = ("name", "queue", "run", "recipe", "environment.variables.")


@dataclass(frozen=True, slots=True)
class JobFile:
    """A document without its local code, and the folder or archive to upload with it (None: nothing)."""

    document: Json
    code: Path | None


def read_job(file: Path | None, pairs: Sequence[str]) -> JobFile:
    """The job of a file (`-` is stdin) with the pairs laid over it. `code` is looked for beside the file."""
    document = _read(file) if file else {}
    for pair in pairs:
        _set(document, pair)
    if not document:
        raise BadUsage(
            say("No job was given."),
            todo=say(
                "Give a file (`-f job.yaml`; `gangline init` writes one) or pairs (`name=a run=./x.sh`)."
            ),
        )
    return _without_local_code(document, _folder(file))


def _read(file: Path) -> Json:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        document = yaml12.load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(say("The job file {file} cannot be read: {error}.", file=file, error=error)) from error
    except yaml.YAMLError as error:
        raise BadUsage(
            say("The job file {file} is not valid YAML: {error}", file=file, error=error)
        ) from error
    if not isinstance(document, dict):
        raise BadUsage(
            say("The job file {file} does not hold keys and values.", file=file),
            todo=say("`gangline init` writes one."),
        )
    return document


def _set(document: Json, pair: str) -> None:
    path, equals, text = pair.partition("=")
    if not equals or not all(path.split(".")):
        raise BadUsage(
            say("“{pair}” is not key=value.", pair=pair),
            todo=say("For example: workers=4 resources.accelerators=1"),
        )
    *parents, last = path.split(".")
    for parent in parents:
        inner = document.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise BadUsage(
                say("“{path}” cannot be set: “{parent}” is a plain value already.", path=path, parent=parent)
            )
        document = inner
    document[last] = text if path.startswith(TEXT_KEYS) else _value(text)


def _value(text: str) -> Any:
    try:
        return yaml12.load(text)
    except yaml.YAMLError:
        return text


def _folder(file: Path | None) -> Path:
    return file.parent if file and str(file) != "-" else Path()


def _without_local_code(document: Json, folder: Path) -> JobFile:
    code = document.get("code")
    if not isinstance(code, str):
        return JobFile(document, None)
    path = folder / Path(code).expanduser()
    if path.exists():
        return JobFile({key: value for key, value in document.items() if key != "code"}, path)
    if _looks_like_id(code):
        return JobFile(document, None)
    raise BadUsage(say("code: there is no folder or archive {path}.", path=path))


def _looks_like_id(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4
