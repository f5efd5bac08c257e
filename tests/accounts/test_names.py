"""The rule for names that people give."""

import pytest

from refusals.text import is_printable, name_problem


@pytest.mark.parametrize(
    "name",
    ["微调 7B 第一次", "实验🚀-Ä", "👩‍🚀", "<b onmouseover=alert(1)>n</b>", "=1+1", "a/../../b", "x" * 120],
)
def test_any_printable_name_is_good(name: str) -> None:
    """Markup and formulas are letters: they are shown letter for letter."""
    assert name_problem("name", name, max_length=120) is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "must not be empty or blank"),
        ("   ", "must not be empty or blank"),
        ("\u3000", "must not be empty or blank"),
        ("x" * 300, "must have at most 120 characters, this has 300"),
        ("a\nb", "must have printable characters only (no control characters, no line breaks)"),
        ("a\0b", "must have printable characters only (no control characters, no line breaks)"),
        ("a\u202eb", "must have printable characters only (no control characters, no line breaks)"),
        ("a\ud800b", "must have printable characters only (no control characters, no line breaks)"),
    ],
)
def test_a_bad_name_is_refused_with_the_rule(name: str, sentence: str) -> None:
    """The sentence states what is allowed."""
    problem = name_problem("name", name, max_length=120)
    assert problem is not None
    assert (problem.path, str(problem.problem)) == ("name", sentence)


def test_a_direction_override_does_not_count_as_printable() -> None:
    """It would show a name backwards."""
    assert is_printable("résumé")
    assert not is_printable("\u202egnp.exe")
