"""The command line's own words in the reader's language. What the portal says comes translated from there."""

from typing import Any

from gangline.language import accept_language


def say(text: str, /, **values: object) -> str:
    """The sentence in the language of the terminal, with its `{values}` filled in."""
    template = _chinese().get(text, text) if reads_chinese() else text
    return template.format(**values) if values else template


def mark(text: str) -> str:
    """The text itself: names a sentence that is said later, so that the check of translations finds it."""
    return text


def reads_chinese() -> bool:
    """Whether the terminal is set to Chinese."""
    return accept_language().startswith("zh")


def localise(command: Any) -> None:
    """Put the help of a command, its parameters and everything below it into the reader's language."""
    for subject in (command, *command.params):
        for name in ("help", "short_help", "rich_help_panel"):
            text = getattr(subject, name, None)
            if isinstance(text, str):
                setattr(subject, name, say(" ".join(text.split()) if name == "help" else text))
    for child in getattr(command, "commands", {}).values():
        localise(child)


def _chinese() -> dict[str, str]:
    from gangline.chinese import TEXTS

    return TEXTS
