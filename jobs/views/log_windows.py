"""Windows of a log: whole lines cut out of a byte stream of any size. Pure; a `read` function has the bytes.

A window starts where a line starts. Memory stays bounded whatever the stream holds: very long lines are shown
by their beginning, and lines are counted and searched chunk by chunk.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

Read = Callable[[int, int], bytes]  # offset, limit -> bytes, empty at the end

WINDOW_BYTES = 256 * 1024
MAX_WINDOW_LINES = 2000
CHUNK_BYTES = 4 * 1024 * 1024
MAX_LINE_CHARS = 4_000  # of one line that are shown; the download has all of it
MAX_HITS = 200
MAX_REST_BYTES = 4 * CHUNK_BYTES
_OVERWRITTEN = re.compile(r"[^\r]*\r(?=[^\r])")  # what a progress bar wrote over


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWindow:
    """Lines from `offset` up to `next_offset`; `first_line` is the number of the first one, from 1."""

    offset: int
    next_offset: int
    first_line: int | None
    lines: tuple[str, ...] = ()
    unfinished: str = ""  # what the stream has after its last line end, while it grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line in which the text was found."""

    line: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The lines found so far; `next_offset` is where to go on, None when the whole stream was searched."""

    hits: tuple[Hit, ...] = ()
    next_offset: int | None = None
    next_line: int = 1


def window_from(read: Read, offset: int, *, size: int, closed: bool, first_line: int | None) -> LogWindow:
    """The lines that begin at `offset` (a line's beginning)."""
    data = read(offset, WINDOW_BYTES)
    if b"\n" not in data and len(data) == WINDOW_BYTES:
        return _one_long_line(read, offset, data, closed=closed, first_line=first_line)
    whole, rest = _whole_lines(data)
    kept = _first_lines(whole)
    if kept == whole and offset + len(data) >= size:
        return _last_window(whole, rest, offset=offset, closed=closed, first_line=first_line)
    next_offset = offset + len(kept)
    return LogWindow(offset=offset, next_offset=next_offset, first_line=first_line, lines=lines_of(kept))


def window_before(read: Read, end: int, *, first_line_after: int | None) -> LogWindow:
    """The lines that end at `end`, a line's beginning whose number is `first_line_after`."""
    begin, data = _lines_up_to(read, end, num_bytes=WINDOW_BYTES)
    if begin == end and end > 0:  # the line before is longer than a window
        first = None if first_line_after is None else first_line_after - 1
        return window_from(read, _line_start(read, end), size=end, closed=True, first_line=first)
    lines = lines_of(data)
    first = None if first_line_after is None else first_line_after - len(lines)
    return LogWindow(offset=begin, next_offset=end, first_line=first, lines=lines)


def tail_window(read: Read, *, size: int, closed: bool, num_bytes: int, num_lines: int | None) -> LogWindow:
    """The last lines within `num_bytes` of the end. `num_lines`: of the stream, finished ones."""
    begin, data = _lines_up_to(read, size, num_bytes=num_bytes)
    if begin == size and size > 0:
        begin = _line_start(read, size)
        window = window_from(read, begin, size=size, closed=closed, first_line=1)
    else:
        window = _last_window(*_whole_lines(data), offset=begin, closed=closed, first_line=1)
    if begin == 0:
        return window
    return replace(window, first_line=None if num_lines is None else num_lines - len(window.lines) + 1)


def offset_of_line(read: Read, line: int) -> tuple[int, int]:
    """Where line `line` begins, and its number; the last line there is if the stream is shorter."""
    offset, number = 0, 1
    for chunk in _chunks(read, 0):
        ends = chunk.count(b"\n")
        if number + ends < line or (number + ends == line and chunk.endswith(b"\n")):
            offset, number = offset + len(chunk), number + ends
            continue
        position = 0
        for _step in range(line - number):
            position = chunk.index(b"\n", position) + 1
        return offset + position, line
    ended = offset > 0 and read(offset - 1, 1) == b"\n"
    return _line_start(read, offset), max(1, number - 1 if ended else number)


def find_lines(
    read: Read, text: str, *, offset: int, line: int, max_bytes: int, max_hits: int = MAX_HITS
) -> Search:
    """The lines from `offset` on (a line's beginning, number `line`) that contain `text`, case as given."""
    needle = text.encode("utf-8", "surrogatepass")
    hits: list[Hit] = []
    done, rest = 0, b""
    for chunk in _chunks(read, offset):
        whole, rest = _whole_lines(rest + chunk)
        if len(rest) > MAX_REST_BYTES:  # a line without end: search it in pieces
            whole, rest = whole + rest, b""
        found, offset, line = _hits_in(whole, needle, offset=offset, line=line, room=max_hits - len(hits))
        hits += found
        done += len(chunk)
        if len(hits) >= max_hits or done >= max_bytes:
            return Search(hits=tuple(hits), next_offset=offset, next_line=line)
    found, _offset, _line = _hits_in(rest, needle, offset=offset, line=line, room=max_hits - len(hits))
    return Search(hits=(*hits, *found))


def lines_of(data: bytes) -> tuple[str, ...]:
    """The lines of these bytes as text: invalid ones replaced, overwritten ones left out, long lines cut."""
    text = data.decode("utf-8", "replace")
    return tuple(_shown(line) for line in text.removesuffix("\n").split("\n")) if text else ()


def _shown(line: str) -> str:
    line = _OVERWRITTEN.sub("", line.rstrip("\r"))
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]} … +{len(line) - MAX_LINE_CHARS:,}"


def _one_long_line(
    read: Read, offset: int, data: bytes, *, closed: bool, first_line: int | None
) -> LogWindow:
    """A line longer than a window: its beginning, and the search for its end."""
    end, is_whole, break_bytes = offset + len(data), closed, 0
    for chunk in _chunks(read, end):
        found = chunk.find(b"\n")
        end += len(chunk) if found < 0 else found
        if found >= 0:
            is_whole, break_bytes = True, 1
            break
    hidden = end - offset - MAX_LINE_CHARS
    line = f"{data.decode('utf-8', 'replace')[:MAX_LINE_CHARS]} … +{hidden:,}"
    if not is_whole:
        return LogWindow(offset=offset, next_offset=offset, first_line=first_line, unfinished=line)
    return LogWindow(offset=offset, next_offset=end + break_bytes, first_line=first_line, lines=(line,))


def _chunks(read: Read, offset: int) -> Iterator[bytes]:
    while chunk := read(offset, CHUNK_BYTES):
        yield chunk
        offset += len(chunk)


def _line_start(read: Read, end: int) -> int:
    """Where the line begins that ends at `end` (a line break just before `end` is its own)."""
    position = end - 1
    while position > 0:
        begin = max(0, position - CHUNK_BYTES)
        found = read(begin, position - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        position = begin
    return 0


def _lines_up_to(read: Read, end: int, *, num_bytes: int) -> tuple[int, bytes]:
    """The whole lines within `num_bytes` before `end`, the last of them; nothing if not one fits."""
    begin = max(0, end - num_bytes)
    data = read(begin, end - begin)
    if begin > 0:
        skipped = data.find(b"\n") + 1
        data = data[skipped:] if skipped else b""
    data = _last_lines(data)
    return end - len(data), data


def _last_window(
    whole: bytes, rest: bytes, *, offset: int, closed: bool, first_line: int | None
) -> LogWindow:
    """The window at the stream's end. While it grows the last piece is shown apart: it will be read again,
    as a whole line.
    """
    if closed:
        whole, rest = whole + rest, b""
    return LogWindow(
        offset=offset,
        next_offset=offset + len(whole),
        first_line=first_line,
        lines=lines_of(whole),
        unfinished=_shown(rest.decode("utf-8", "replace")),
    )


def _first_lines(data: bytes) -> bytes:
    """At most so many lines from the front."""
    parts = data.split(b"\n", MAX_WINDOW_LINES)
    return data if len(parts) <= MAX_WINDOW_LINES else data[: len(data) - len(parts[-1])]


def _last_lines(data: bytes) -> bytes:
    """At most so many lines from the back; a last one without end counts too."""
    parts = data.removesuffix(b"\n").rsplit(b"\n", MAX_WINDOW_LINES)
    return data if len(parts) <= MAX_WINDOW_LINES else data[len(parts[0]) + 1 :]


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _hits_in(data: bytes, needle: bytes, *, offset: int, line: int, room: int) -> tuple[list[Hit], int, int]:
    """The hits in these bytes (they begin where a line begins); offset and number of the line after them."""
    hits: list[Hit] = []
    position = 0  # of a line's beginning, at or before which everything was looked at
    while len(hits) < room:
        found = data.find(needle, position)
        if found < 0:
            break
        begin = data.rfind(b"\n", 0, found) + 1
        line += data.count(b"\n", position, begin)
        end = data.find(b"\n", found)
        end = len(data) if end < 0 else end
        text = data[begin : min(end, begin + MAX_LINE_CHARS)].decode("utf-8", "replace")
        hits.append(Hit(line=line, offset=offset + begin, text=_shown(text)))
        position = min(end + 1, len(data))
        if end == len(data):
            break
        line += 1
    if len(hits) >= room:
        return hits, offset + position, line
    return hits, offset + len(data), line + data.count(b"\n", position)
