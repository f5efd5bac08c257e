"""The worked examples of docs/scheduling.md are true."""

import doctest
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "scheduling.md"


def test_the_examples_in_the_document_hold() -> None:
    """Each line after `>>>` gives what stands below it."""
    result = doctest.testfile(str(DOCUMENT), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0
