"""Cells of exports."""

import csv
import io

import pytest

from quotas.exports import csv_bytes, safe_cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠a"]
)
def test_a_text_that_looks_like_a_formula_is_defused(text: str) -> None:
    """With an apostrophe, which spreadsheets do not show."""
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["微调 7B 第一次", "a=b", "", 0, -1, -2.5, 7])
def test_anything_else_stays_as_it_is(value: object) -> None:
    """A negative number is a number."""
    assert safe_cell(value) == value


def test_nothing_is_an_empty_cell() -> None:
    """Not the word None."""
    assert safe_cell(None) == ""


def test_a_table_reads_back_letter_for_letter() -> None:
    """Quotes, commas and line breaks included; Chinese opens right by the mark at the beginning."""
    rows = [["a,b", 'say "hi"', "two\nlines"], ["微调", "", "x"]]
    data = csv_bytes(["one", "two", "three"], rows)
    assert data.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))[1:] == rows
