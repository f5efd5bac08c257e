"""Job files mean what they look like."""

from typing import Any

import pytest
import yaml

from gangline import yaml12


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 0.0003),
        ("1e6", 1e6),
        (".5", 0.5),
        ("-2", -2),
        ("12:30", "12:30"),
        ("0777", "0777"),
        ("on", "on"),
        ("no", "no"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("2026-11-30", "2026-11-30"),
        ("1_000", "1_000"),
        ("8GiB", "8GiB"),
        ("[1, a, 2.5]", [1, "a", 2.5]),
    ],
)
def test_plain_values_follow_yaml_1_2(text: str, value: Any) -> None:
    """No octal, no times of day as numbers, no yes and no as booleans; exponents are numbers."""
    assert yaml12.load(text) == value


def test_an_empty_value_in_a_mapping_is_null() -> None:
    """`key:` with nothing behind it."""
    assert yaml12.load("a:\nb: 1") == {"a": None, "b": 1}


def test_a_repeated_key_is_refused() -> None:
    """Silently taking the last one has cost people a night's training."""
    with pytest.raises(yaml.YAMLError, match="'workers' is given twice"):
        yaml12.load("workers: 2\nworkers: 4\n")


def test_tags_of_python_are_refused() -> None:
    """A job file must not run code on the machine of whoever submits it."""
    with pytest.raises(yaml.YAMLError):
        yaml12.load("!!python/object/apply:os.system ['true']")
