"""The given scheduling cases, and more of the same kinds, through `python -m scheduling cases`."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from scheduling.__main__ import main
from scheduling.cases.command import play
from tests.support.code import ROOT

Case = Mapping[str, Any]

HERE = Path(__file__).parent
GIVEN: list[Case] = json.loads((HERE / "cases.json").read_text())["cases"]
MORE: list[Case] = json.loads((HERE / "more_cases.json").read_text())["cases"]
NEGATIVES = {
    "between t=15 and t=70 node n1 runs nothing": "between t=15 and t=70 node n2 runs nothing",
    "h1..h6 run throughout": "l1 and l2 run throughout",
    "usage(Q) <= 4 and equals the running pods of E and W": "usage(Q) <= 4 and equals the running pods of E",
    "the four jobs on b1 and the four on the third node of rack A run throughout": (
        "the four jobs on b1 and the four on H's two nodes run throughout"
    ),
    "a job that is not running holds 0 devices": "J1 and J2 hold 0 devices",
    "usage(P) <= 4": "usage(P) <= 3",
    "two different nodes of a1,a2,a3": "two different nodes of a1,b1,b2",
    "the 8 jobs that ran on H's two nodes": "the 8 jobs that ran on a1 and b1",
    "exactly the 8 jobs on H's two nodes": "exactly the 4 jobs on b1",
    "n2 and the node of the one evicted job": "n1 and n3",
    "one of L1,L3": "L1 and L3",
    "one of l1,l2": "l1 and l2",
    "exactly one of L1, L3 still runs": "L1 and L3 still run",
    "exactly one of l1, l2 has gone; the other and h1..h6 still run": "l1 and l2 have gone; h1..h6 still run",
}


@pytest.mark.parametrize("case", GIVEN, ids=lambda case: case["id"])
def test_the_given_case_holds(case: Case) -> None:
    """Every check, start, eviction and sentence of it."""
    assert play(case) == {"id": case["id"], "passed": True, "differences": []}


@pytest.mark.parametrize("case", MORE, ids=lambda case: case["id"])
def test_the_case_of_the_same_kind_holds(case: Case) -> None:
    """Failed and drained nodes, repairs, types, trees, weights, elastic jobs, parts of devices."""
    assert play(case) == {"id": case["id"], "passed": True, "differences": []}


@pytest.mark.parametrize("case", GIVEN, ids=lambda case: case["id"])
def test_every_statement_of_a_given_case_can_fail(case: Case) -> None:
    """Each number, place, name, reason and sentence, made wrong alone, is told as a difference."""
    unnoticed = [what for what, changed in _falsified(case) if play(changed)["passed"]]
    assert unnoticed == []


def test_the_command_prints_what_differs_and_when(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1; as JSON the id, whether it passed, and the second and words of each difference."""
    wrong = deepcopy(dict(GIVEN[0]))
    wrong["expect"]["checks"][2]["t"] = 69
    file = _written(tmp_path, [wrong, GIVEN[3]])
    assert main(["cases", str(file), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["passed"], printed["failed"]) == (1, 1)
    assert printed["cases"][1] == {"id": GIVEN[3]["id"], "passed": True, "differences": []}
    assert {each["t"] for each in printed["cases"][0]["differences"]} == {69}
    assert "H holds nothing" in printed["cases"][0]["differences"][0]["what"]


def test_the_command_is_content_when_all_cases_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 and one line for each case."""
    assert main(["cases", str(_written(tmp_path, [GIVEN[0]]))]) == 0
    assert capsys.readouterr().out == f"passed  {GIVEN[0]['id']}\n1 passed, 0 failed\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cases": [\n {"id": 1,,}]}', "line 2, column 11: not JSON"),
        ('{"case": []}', "the file: the field 'cases' is missing"),
        ("[]", "the file: an object is expected"),
        ('{"cases": {}}', "cases: a list is expected"),
        ('{"cases": [{}]}', "cases[0]: the field 'id' is missing"),
        ('{"cases": [{"id": "a"}, {"id": "a"}]}', "cases: 'a' is named twice"),
    ],
)
def test_a_file_that_is_none_of_cases_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and where the fault is."""
    file = tmp_path / "cases.json"
    file.write_text(text)
    assert main(["cases", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2."""
    assert main(["cases", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"events": [{"t": 0, "op": "explode", "job": "a"}]}, "events[0]: unknown op 'explode'; known are"),
        (
            {"events": [{"t": 0, "op": "submit", "job": {"name": "a", "queue": "Q", "gpu": 1}}]},
            "unknown field 'gpu'",
        ),
        ({"events": [{"t": 0, "op": "submit", "job": {"name": "a"}}]}, "the field 'queue' is missing"),
        (
            {"events": [{"t": 0, "op": "submit", "job": {"name": "a", "queue": "Q", "pods": -1}}]},
            "job.pods: a whole",
        ),
        ({"events": [{"t": 0, "op": "submit", "job": "a"}]}, "no earlier event says what 'a' is"),
        ({"events": [{"t": 0, "op": "fail", "node": "n9"}]}, "'n9' is no node of the case"),
        (
            {"events": [{"t": 0, "op": "running", "job": {"name": "a", "queue": "Q"}, "on": []}]},
            "1 to 1 pods, on 0",
        ),
        ({"events": [{"t": 0.5, "op": "submit"}]}, "events[0].t: a whole number"),
        ({"queues": [{"name": "Q", "parent": "P"}]}, "the parent P of Q is no queue"),
        ({"cluster": {"nodes": [{"name": "n1", "gpus": 4, "health": "ill"}]}}, "health: known are up"),
        ({"cluster": {}}, "cluster: the field 'nodes' is missing"),
        ({"expect": {"checks": [{"t": 0, "runing": {}}]}}, "expect.checks[0]: unknown field 'runing'"),
        ({"expect": {"checks": [{"t": 0, "reason": {"a": "hungry"}}]}}, "'hungry' is not known as a reason"),
        ({"expect": {"checks": [{"t": 0, "running": {"a": "on a good day"}}]}}, "not understood"),
        ({"expect": {"checks": [{"t": 0, "pending": ["b"]}]}}, "not understood: b"),
        ({"expect": {"always": ["all is well"]}}, "not understood: all is well"),
    ],
)
def test_a_case_with_a_fault_differs_and_says_where(change: dict[str, Any], said: str) -> None:
    """Never a traceback: the case fails, and the others are played."""
    result = play({**_one_job(), **change})
    assert not result["passed"]
    assert said in result["differences"][0]["what"]


def test_an_event_that_cannot_be_is_told_with_its_second() -> None:
    """A pod of a job that has ended cannot finish; the rest of the case goes on."""
    done = {"t": 3, "op": "pod_done", "job": "a"}
    result = play({**_one_job(), "events": [*_one_job()["events"], done, {**done, "t": 4}]})
    assert result["differences"] == [{"t": 4, "what": "pod_done: a: this job has ended, or is not complete"}]


def test_a_note_that_is_not_understood_is_for_the_reader() -> None:
    """A note that is understood has to hold."""
    for note, passed in {"all is well": True, "a runs": True, "a does not run": False}.items():
        case = {**_one_job(), "expect": {"checks": [{"t": 0, "note": note}]}}
        assert play(case)["passed"] is passed


def test_a_command_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """argparse's exit 2, with the commands that there are."""
    with pytest.raises(SystemExit) as stopped:
        main(["guess"])
    assert stopped.value.code == 2
    assert "'cases', 'replay', 'bench'" in capsys.readouterr().err


def _one_job() -> dict[str, Any]:
    return {
        "id": "one",
        "cluster": {"nodes": [{"name": "n1", "gpus": 4}]},
        "queues": [{"name": "Q"}],
        "events": [{"t": 0, "op": "submit", "job": {"name": "a", "queue": "Q"}}],
        "expect": {},
    }


def _written(tmp_path: Path, cases: list[Case]) -> Path:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"cases": cases}))
    return file


def _falsified(case: Case) -> Iterator[tuple[str, Case]]:
    """The case again and again, each time with one statement made wrong."""
    expect = case["expect"]
    for number, check in enumerate(expect["checks"]):
        for field in check.keys() - {"t"}:
            for what, value in _wrong_values(field, check[field]):
                changed = deepcopy(dict(case))
                changed["expect"]["checks"][number][field] = value
                yield f"t={check['t']} {field}: {what}", changed
    for field in expect.keys() - {"checks"}:
        for what, value in _wrong_values(field, expect[field]):
            yield f"{field}: {what}", {**case, "expect": {**expect, field: value}}


def _wrong_values(field: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Ways to make a field wrong: each of its entries alone, or the whole of it."""
    if isinstance(value, str):
        yield value, NEGATIVES[value]
    elif isinstance(value, list):
        yield from (
            (each, [*value[:n], _wrong(field, each), *value[n + 1 :]]) for n, each in enumerate(value)
        )
    else:
        yield from ((name, {**value, name: _wrong(field, each)}) for name, each in value.items())
        words = [name for name in value if name in NEGATIVES]
        yield from (
            (name, {NEGATIVES[name] if key == name else key: n for key, n in value.items()}) for name in words
        )
        yield from [("none is named", {"H": 1})] if field == "evictions" else []


def _wrong(field: str, value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case int():
            return value + 1
        case None:
            return 7
        case list():
            return [*value[1:], "elsewhere"]
    others = {"reason": "in_order", "reason_gone": "p2"}
    return NEGATIVES.get(value, others.get(field, "nobody"))


def test_the_case_in_the_documents_holds() -> None:
    """`docs/scheduling-cases.md` shows one whole file."""
    blocks = (ROOT / "docs" / "scheduling-cases.md").read_text().split("```")
    shown = json.loads(blocks[1].removeprefix("json"))["cases"]
    assert [play(case)["differences"] for case in shown] == [[]]


def test_pods_that_finish_are_wanted_no_more() -> None:
    """An elastic job does not grow back, may fall below its least, and ends with the last one."""
    job = {"name": "a", "queue": "Q", "min": 2, "max": 3}
    done = {"op": "pod_done", "job": "a"}
    events = [{"t": 0, "op": "submit", "job": job}, *({"t": t, **done} for t in (1, 2, 3))]
    checks: list[dict[str, object]] = [{"t": t, "running": {"a": 3 - t}} for t in (0, 1, 2)]
    checks.append({"t": 3, "running": {}, "pending": []})
    assert play({**_one_job(), "events": events, "expect": {"checks": checks}})["differences"] == []
