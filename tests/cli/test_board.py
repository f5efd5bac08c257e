"""Progress as people see it: bars on a terminal, lines elsewhere."""

import io

import pytest
from rich.console import Console

from gangline import board
from gangline.sight import Sight
from gangline.units import amount, duration, plain, size
from tests.cli.recording_portal import job


def screen() -> tuple[Console, io.StringIO]:
    """A terminal that keeps what is drawn."""
    drawn = io.StringIO()
    return Console(file=drawn, force_terminal=True, width=160), drawn


def test_bars_show_step_loss_state_and_why_it_waits() -> None:
    """One bar per job; names are never taken for markup."""
    console, drawn = screen()
    reason = {"code": "no_room", "text": "[2 of 4] fit", "help": "", "params": {}}
    with board.LiveBoard(console) as bars:
        bars.show([Sight(job(name="[red]微调[/]", state="running", step=30, total_steps=100), 2.5)])
        bars.show([Sight(job(id="2", name="other", reason=reason))])
        bars.say("a line that stays [1]")
    for text in ("[red]微调[/]", "running", "30/100", "loss 2.5000", "[2 of 4] fit", "a line that stays [1]"):
        assert text in drawn.getvalue()


def test_lines_tell_news_and_not_every_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step alone is news only after a while."""
    lines = board.PlainBoard()
    for step in (1, 2, 3):
        lines.show([Sight(job(state="running", step=step, total_steps=9))])
    monkeypatch.setattr(board, "PLAIN_EVERY_SECONDS", 0.0)
    lines.show([Sight(job(state="running", step=4, total_steps=9))])
    lines.show([Sight(job(state="succeeded", step=9, total_steps=9), 0.5)])
    assert capsys.readouterr().out.splitlines() == [
        "first  running  step 1/9",
        "first  running  step 4/9",
        "first  succeeded  step 9/9  loss 0.5000",
    ]


def test_without_a_terminal_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A log file full of bars helps nobody."""
    assert isinstance(board.open_board(), board.PlainBoard)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.4, "0s"), (59.6, "1m00s"), (187, "3m07s"), (7500, "2h05m"), (273600, "3d04h")],
)
def test_durations_have_two_units_at_most(seconds: float | None, text: str) -> None:
    """Rounded to the second first, so that there is no 60s."""
    assert duration(seconds) == text


def test_amounts_and_sizes_are_short() -> None:
    """As people write them."""
    assert [amount(value) for value in (4.0, 0.5, 0, None)] == ["4", "0.5", "0", ""]
    assert [size(value) for value in (0, 1023, 1024, 150 * 2**20, 3 * 2**50)] == [
        *("0 B", "1023 B", "1.0 KiB"),
        *("150 MiB", "3.0 PiB"),
    ]


def test_foreign_text_stays_in_its_line() -> None:
    """Control characters are shown, not obeyed."""
    assert plain("a\nb\x1b[2J微调🚀") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[2J微调🚀"
