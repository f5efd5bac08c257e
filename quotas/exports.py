"""Tables as CSV files that spreadsheets open safely. Pure."""

import csv
import io
from collections.abc import Iterable, Sequence

_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_BOM = "\ufeff"  # without it spreadsheets in China take UTF-8 for GBK


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The table in UTF-8; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([safe_cell(name) for name in header])
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return (_BOM + text.getvalue()).encode("utf-8")


def safe_cell(value: object) -> object:
    """Numbers as they are, None as nothing, texts defused."""
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    text = str(value)
    return f"'{text}" if text.startswith(_STARTS_FORMULA) else text
