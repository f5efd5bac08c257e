"""Bytes into documents: what is read, and what is refused before anything looks at its meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.document import MAX_JSON_BYTES, MAX_YAML_BYTES, read_json, read_yaml
from refusals import Invalid


def test_json_and_yaml_say_the_same() -> None:
    """The same job file in two spellings."""
    yaml = "name: 微调\nworkers: 4\nresources: {accelerators: 0.5}\nrun: |\n  python a.py\n".encode()
    json = (
        '{"name": "微调", "workers": 4, "resources": {"accelerators": 0.5}, "run": "python a.py\\n"}'.encode()
    )
    assert read_yaml(yaml) == read_json(json)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("12:30:00", "12:30:00"),
        ("2026-11-30", "2026-11-30"),
        ("3e-4", 3e-4),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("~", None),
        ("true", True),
        ('"7"', "7"),
    ],
)
def test_yaml_follows_the_core_rules_of_1_2(text: str, value: object) -> None:
    """Words that YAML 1.1 turned into something else stay words."""
    assert read_yaml(f"a: {text}".encode()) == {"a": value}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b"1" * 5_000,
        b" " * (MAX_JSON_BYTES + 1),
    ],
    ids=["empty", "cut", "doubled", "nan", "infinity", "utf16", "nested", "deep", "digits", "large"],
)
def test_bad_json_is_refused(body: bytes) -> None:
    """Never another error than the one with a sentence."""
    with pytest.raises(Invalid):
        read_json(body)


@pytest.mark.parametrize(
    "body",
    [
        b"a: 1\na: 2",
        b"a: &x 1\nb: *x",
        b"a: !!python/object/apply:os.system [id]",
        b"a: !!timestamp 2020-99-99",
        b"a: !!binary x",
        b"? [1]\n: 2",
        b"1: a",
        b"a: [",
        b"\xff",
        b"a: \x00",
        b"[" * 20_000,
        b"a: " + b"9" * 5_000,
        b"--- 1\n--- 2",
        b" " * (MAX_YAML_BYTES + 1),
        b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
    ],
    ids=[
        *(
            "doubled",
            "alias",
            "object",
            "timestamp",
            "binary",
            "list-key",
            "number-key",
            "cut",
            "utf8",
            "nul",
        ),
        *("deep", "digits", "two", "large", "bomb"),
    ],
)
def test_bad_yaml_is_refused(body: bytes) -> None:
    """Never another error than the one with a sentence."""
    with pytest.raises(Invalid):
        read_yaml(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """No other outcome."""
    for read in (read_json, read_yaml):
        try:
            read(body)
        except Invalid:
            continue
