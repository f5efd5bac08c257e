"""Form and job document, each made from the other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.views.submit import as_yaml
from jobs.views.submit_fields import PLAIN, document_of, fields_of

DOCUMENT: dict[str, Any] = {
    "name": "微调",
    "queue": "research/nlp",
    "priority": "high",
    "workers": 4,
    "resources": {"accelerators": 0.5, "types": ["h100", "a100"], "cpus": 2, "memory": "8GiB"},
    "topology": {"job": {"within": "rack", "preferred": True}},
    "run": "python train.py\npython eval.py",
    "environment": {"variables": {"A": "b=c", "N": "1"}},
    "checkpoint": {"every": "5m", "keep": 2},
    "limits": {"max_runtime": "12h", "retries": 1},
}
RECIPE: dict[str, Any] = {
    "name": "r",
    "recipe": "gpt-pretrain",
    "params": {"steps": 10, "learning_rate": 0.003},
}


@pytest.mark.parametrize("document", [DOCUMENT, RECIPE, {"name": "x", "run": "y"}])
def test_a_document_survives_the_form(document: dict[str, Any]) -> None:
    """Shown in the form and read back it is the same, in the order of the documentation."""
    again = document_of(fields_of(document), {})
    assert again == document
    assert list(again) == list(document)


def test_keys_without_a_field_are_kept() -> None:
    """What was written by hand beyond the form stays."""
    base = {"name": "x", "run": "y", "notify": [1], "resources": {"later": 3}}
    document = document_of({**fields_of(base), "workers": "2"}, base)
    assert document["notify"] == [1]
    assert document["resources"] == {"later": 3}
    assert document["workers"] == 2


def test_an_emptied_field_takes_its_key_away() -> None:
    """And the mapping around it, when nothing is left."""
    fields = fields_of(DOCUMENT) | {"every": "", "keep": " ", "within": "", "variables": "\n"}
    document = document_of(fields, DOCUMENT)
    assert not {"checkpoint", "topology", "environment"} & document.keys()


def test_command_and_recipe_exclude_each_other() -> None:
    """Switching the form over takes the other one out of the document."""
    to_run = document_of(fields_of(RECIPE) | {"program": "run", "run": "echo"}, RECIPE)
    assert to_run == {"name": "r", "run": "echo"}
    fields = fields_of(DOCUMENT) | {"program": "recipe", "recipe": "gpt-pretrain", "param.steps": "5"}
    to_recipe = document_of(fields, DOCUMENT)
    assert "run" not in to_recipe
    assert to_recipe["params"] == {"steps": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("0.5", 0.5), (" 7 ", 7), ("8GiB", "8GiB"), ("1_000", "1_000"), ("nan", "nan"), ("٣", "٣")],
)
def test_numbers_become_numbers_and_the_rest_stays_text(text: str, value: object) -> None:
    """So that the rules of the job file can name what was really typed."""
    assert document_of({"cpus": text, "program": "run"}, {}) == {"resources": {"cpus": value}}


def test_names_and_commands_stay_text() -> None:
    """A job may be called 007."""
    assert document_of({"name": "007", "run": "1", "program": "run"}, {}) == {"name": "007", "run": "1"}


def test_long_commands_are_written_as_blocks() -> None:
    """As people write them, with any script as it is."""
    assert as_yaml({"name": "实验🚀", "run": "a\nb\n"}) == "name: 实验🚀\nrun: |\n  a\n  b\n"


@given(
    st.dictionaries(
        st.sampled_from([*PLAIN, "types", "variables", "preferred", "program"]), st.text(max_size=30)
    )
)
def test_nothing_typed_breaks_the_form(fields: dict[str, str]) -> None:
    """The document of any fields can be written, and shown again."""
    document = document_of(fields, None)
    as_yaml(document)
    fields_of(document)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "resources", "topology", "job", "types", "params", "environment", "variables"]
                ),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_any_document_can_be_shown(document: object) -> None:
    """Also one whose parts are not what they should be."""
    fields = fields_of(document)
    assert all(isinstance(value, str) for value in fields.values())
    document_of(fields, document)
