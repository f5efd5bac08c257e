"""Windows of a log: whichever way one goes through it, every line is shown once, under its own number."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.views import log_windows
from jobs.views.log_windows import (
    CHUNK_BYTES,
    MAX_LINE_CHARS,
    MAX_WINDOW_LINES,
    WINDOW_BYTES,
    LogWindow,
    Read,
    find_lines,
    lines_of,
    offset_of_line,
    tail_window,
    window_before,
    window_from,
)


def reader(data: bytes) -> Read:
    """The stream with these bytes."""
    return lambda offset, limit: data[offset : offset + limit]


def numbered(count: int) -> bytes:
    """So many lines that say their own number."""
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


def forward(data: bytes, *, closed: bool = True) -> list[LogWindow]:
    """All windows from the beginning to the end."""
    windows, offset, line = [], 0, 1
    while offset < len(data):
        window = window_from(reader(data), offset, size=len(data), closed=closed, first_line=line)
        if window.next_offset == offset:
            break
        windows.append(window)
        offset, line = window.next_offset, line + len(window.lines)
    return windows


def test_going_forward_misses_and_doubles_no_line() -> None:
    """Over several windows, numbers as in the file."""
    windows = forward(numbered(100_000))
    assert len(windows) > 3
    lines = [line for window in windows for line in window.lines]
    assert lines == [f"line {number}" for number in range(1, 100_001)]
    assert [window.first_line for window in windows[1:]] == [
        int(window.lines[0].split()[1]) for window in windows[1:]
    ]


def test_going_backward_meets_the_same_lines() -> None:
    """From the tail up to line 1."""
    data = numbered(60_000)
    window = tail_window(reader(data), size=len(data), closed=True, num_bytes=1000, num_lines=60_000)
    lines = list(window.lines)
    while window.offset > 0:
        window = window_before(reader(data), window.offset, first_line_after=window.first_line)
        assert window.lines[0] == f"line {window.first_line}"
        lines = [*window.lines, *lines]
    assert window.first_line == 1
    assert lines == [f"line {number}" for number in range(1, 60_001)]


@pytest.mark.parametrize("line", [1, 2, 999, 60_000, 60_001, 10**9])
def test_a_line_is_found_by_its_number(line: int) -> None:
    """One beyond the end is the last one."""
    data = numbered(60_000)
    offset, found = offset_of_line(reader(data), line)
    assert found == min(line, 60_000)
    assert data[offset:].startswith(b"line %d\n" % found)


def test_an_unfinished_line_is_shown_apart_and_read_again() -> None:
    """Its end is still to come."""
    data = b"one\ntwo\nthr"
    window = window_from(reader(data), 0, size=len(data), closed=False, first_line=1)
    assert (window.lines, window.unfinished, window.next_offset) == (("one", "two"), "thr", 8)
    tail = tail_window(reader(data), size=len(data), closed=False, num_bytes=5, num_lines=2)
    assert (tail.lines, tail.unfinished, tail.next_offset) == ((), "thr", 8)
    ended = window_from(reader(data), 8, size=len(data), closed=True, first_line=3)
    assert (ended.lines, ended.unfinished, ended.next_offset) == (("thr",), "", 11)


def test_the_tail_knows_its_line_numbers() -> None:
    """Also when the last line has no end."""
    data = numbered(100) + b"last"
    tail = tail_window(reader(data), size=len(data), closed=True, num_bytes=30, num_lines=101)
    assert tail.lines[-1] == "last"
    assert tail.first_line == 101 - len(tail.lines) + 1
    assert tail.lines[0] == f"line {tail.first_line}"


def test_a_line_of_five_megabytes_is_one_short_row() -> None:
    """And the next line has the next number."""
    data = b"first\n" + b"x" * 5_000_000 + b"\nlast\n"
    windows = forward(data)
    lines = [line for window in windows for line in window.lines]
    assert len(lines) == 3
    assert lines[1].startswith("xxxx")
    assert len(lines[1]) < MAX_LINE_CHARS + 30
    assert "+4,996,000" in lines[1]
    assert lines[2] == "last"


def test_a_long_line_that_still_grows_is_not_taken_for_a_whole_one() -> None:
    """Its end will be read as part of the same line."""
    data = b"x" * (3 * WINDOW_BYTES)
    window = window_from(reader(data), 0, size=len(data), closed=False, first_line=1)
    assert (window.lines, window.next_offset) == ((), 0)
    assert window.unfinished.startswith("xxxx")
    whole = window_from(reader(data), 0, size=len(data), closed=True, first_line=1)
    assert (len(whole.lines), whole.next_offset) == (1, len(data))


def test_going_backward_passes_a_line_longer_than_a_window() -> None:
    """From behind it, and when the end of the log lies within it."""
    data = b"first\n" + b"x" * (3 * WINDOW_BYTES) + b"\nlast\n"
    last = data.index(b"last")
    window = window_before(reader(data), last, first_line_after=3)
    assert (window.offset, window.next_offset, window.first_line) == (6, last, 2)
    assert len(window.lines) == 1
    before = window_before(reader(data), window.offset, first_line_after=2)
    assert (before.lines, before.first_line) == (("first",), 1)
    cut = data[:-6]
    tail = tail_window(reader(cut), size=len(cut), closed=True, num_bytes=1000, num_lines=2)
    assert (tail.offset, tail.first_line, len(tail.lines)) == (6, 2, 1)


def test_a_window_of_empty_lines_is_bounded_too() -> None:
    """A quarter of a million of them would freeze a page."""
    data = b"\n" * 300_000
    assert (
        len(window_from(reader(data), 0, size=len(data), closed=True, first_line=1).lines) == MAX_WINDOW_LINES
    )
    before = window_before(reader(data), len(data), first_line_after=300_001)
    assert (len(before.lines), before.first_line) == (MAX_WINDOW_LINES, 300_001 - MAX_WINDOW_LINES)
    tail = tail_window(reader(data), size=len(data), closed=True, num_bytes=100_000, num_lines=300_000)
    assert (len(tail.lines), tail.first_line) == (MAX_WINDOW_LINES, 300_000 - MAX_WINDOW_LINES + 1)
    assert sum(len(window.lines) for window in forward(data)) == 300_000


def test_progress_that_was_written_over_is_left_out() -> None:
    """Ten thousand carriage returns are one row: the last state."""
    assert lines_of(b"\r".join(b"%d%%" % n for n in range(101)) + b"\nnext\n") == ("100%", "next")
    assert lines_of(b"windows\r\nends\r\n") == ("windows", "ends")


def test_invalid_bytes_and_markup_are_text() -> None:
    """Nothing stops the lines behind."""
    assert lines_of(b"\xff\xfe\x00ok\n<img src=x>\n") == ("\ufffd\ufffd\x00ok", "<img src=x>")
    assert lines_of(b"") == ()
    assert lines_of(b"\n\n") == ("", "")


def test_a_word_is_found_with_its_line_number() -> None:
    """Over the border of two chunks as well."""
    data = numbered(800_000)
    assert len(data) > 2 * CHUNK_BYTES
    for line in (1, 350_003, 800_000):
        text = f"line {line}\n".strip()
        hits = [
            hit
            for hit in find_lines(reader(data), text, offset=0, line=1, max_bytes=10**9).hits
            if hit.text == text
        ]
        assert [hit.line for hit in hits] == [line]
        assert data[hits[0].offset :].startswith(text.encode())


def test_a_long_search_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many hits, or so many bytes."""
    monkeypatch.setattr(log_windows, "CHUNK_BYTES", 1000)
    data = numbered(2000)
    offset: int | None = 0
    line, found = 1, []
    while offset is not None:
        search = find_lines(reader(data), "line 1", offset=offset, line=line, max_bytes=3000, max_hits=7)
        found += [hit.line for hit in search.hits]
        offset, line = search.next_offset, search.next_line
    assert found == [number for number in range(1, 2001) if str(number).startswith("1")]


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=60), st.integers(1, 40)
)
def test_any_bytes_give_each_line_once(lines: list[bytes], window: int) -> None:
    """For any lines and any size of window."""
    data = b"".join(line + b"\n" for line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_windows, "WINDOW_BYTES", window)
        assert sum(len(part.lines) for part in forward(data)) == len(lines)
    assert WINDOW_BYTES > 40
