"""`python -m scheduling replay` and `bench`: what they take, what they print, what they refuse."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from scheduling import bench_command
from scheduling.__main__ import main
from scheduling.bench.registry import Case, Clocks, Measured
from scheduling.bench.starts import plain_starts
from scheduling.decide import decide
from scheduling.model import Policy
from scheduling.simulation.traces import ReplayOptions, Trace
from tests.support.code import ROOT


@pytest.fixture
def philly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ReplayOptions]:
    """A trace in the place of Philly's, which writes down how it was asked to run."""
    asked: list[ReplayOptions] = []

    def run(traces: Path, options: ReplayOptions) -> Mapping[str, object]:
        assert traces == tmp_path
        asked.append(options)
        return {"trace": "philly", "metrics": {"makespan_s": 1234567.0, "num_jobs": 3}}

    trace = Trace("philly", ("fifo", "ours"), run, workloads=("all", "week"))
    monkeypatch.setitem(sys.modules, "scheduling.simulation.philly", SimpleNamespace(TRACE=trace))
    (tmp_path / "philly").mkdir()
    return asked


def test_a_trace_is_replayed_as_asked(
    philly: list[ReplayOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workload, cluster, policy, seed and rounds reach the trace; its result is printed as JSON."""
    where = ["--trace", "philly:week", "--traces", str(tmp_path), "--cluster", "64x8", "--policy", "ours"]
    assert main(["replay", *where, "--seed", "3", "--round-seconds", "60", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["num_jobs"] == 3
    options = philly[0]
    assert (options.num_nodes, options.devices_per_node, options.workload) == (64, 8, "week")
    assert (options.policy, options.seed, options.round_seconds) == ("ours", 3, 60)
    assert options.clock() <= options.clock()


def test_the_first_policy_is_the_default_and_text_the_other_form(
    philly: list[ReplayOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not asked for is the trace's own setting."""
    assert main(["replay", "--trace", "philly", "--traces", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "trace: philly\nmetrics:\n  makespan_s: 1.23457e+06\n  num_jobs: 3\n"
    assert (philly[0].policy, philly[0].num_nodes, philly[0].workload) == ("fifo", None, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trace", "borg"], "there is no trace 'borg'; there are: philly, kalos, openb, pollux"),
        (["--trace", "philly", "--policy", "luck"], "philly has no policy 'luck'; there are: fifo, ours"),
        (["--trace", "philly:year"], "philly has no workload 'year'; there are: all, week"),
        (["--trace", "philly", "--traces", "/nowhere"], "there is no directory /nowhere/philly"),
    ],
)
def test_what_there_is_not_is_refused(
    arguments: list[str],
    said: str,
    philly: list[ReplayOptions],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2, with what was given and what there is."""
    assert main(["replay", "--traces", str(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert philly == []


@pytest.mark.parametrize("text", ["16", "0x4", "axb", "16x4x2"])
def test_a_cluster_is_nodes_by_devices(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is refused by its name."""
    with pytest.raises(SystemExit) as stopped:
        main(["replay", "--trace", "philly", "--cluster", text])
    assert stopped.value.code == 2
    assert f"'{text}' is not nodes x devices" in capsys.readouterr().err


def test_a_figure_stands_beside_its_bar_and_peer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 if a bar is missed; a figure without a bar is neither met nor missed."""
    monkeypatch.setattr(
        bench_command, "CASES", (_case("fast", 5, 4), _case("slow", 5, 6), _case("free", 5, None))
    )
    assert main(["bench", "--json"]) == 1
    results = json.loads(capsys.readouterr().out)["results"]
    assert [(each["name"], each["met"]) for each in results] == [
        ("fast", True),
        ("slow", False),
        ("free", None),
    ]
    assert results[0].keys() >= {"name", "value", "unit", "bar", "peer", "met"}


def test_only_the_cases_named_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of the name is enough."""
    monkeypatch.setattr(bench_command, "CASES", (_case("fast", 5, 4), _case("slow", 5, 6)))
    assert main(["bench", "fas"]) == 0
    assert capsys.readouterr().out == " met  fast: 5 jobs/s (wall 2; bar 4; peer: other 1)\n"


def test_a_case_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 and the names that there are."""
    assert main(["bench", "luck"]) == 2
    assert "no case is named luck; there are: " in capsys.readouterr().err


def test_a_bar_is_a_most_unless_it_is_a_least() -> None:
    """Milliseconds are to be few, jobs per second many."""
    most = Case(name="m", unit="ms", run=lambda _: Measured(value=1), bar=10)
    assert (most.met_by(10), most.met_by(11)) == (True, False)
    least = Case(name="l", unit="jobs/s", run=lambda _: Measured(value=1), bar=10, at_least=True)
    assert (least.met_by(10), least.met_by(9)) == (True, False)


def test_the_first_workload_starts_every_job_at_once() -> None:
    """What it measures is one plan with as many starts as devices."""
    snapshot = plain_starts(num_nodes=3)
    assert len(decide(snapshot, 1000, Policy()).starts) == 24


def test_every_case_has_a_name_of_its_own() -> None:
    """Else a name would not select one."""
    names = [case.name for case in bench_command.CASES]
    assert len(set(names)) == len(names) > 0


def test_the_module_runs_as_a_program() -> None:
    """`python -m scheduling --help` lists the three commands."""
    done = subprocess.run(
        [sys.executable, "-m", "scheduling", "--help"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert all(f"    {name} " in done.stdout for name in ("cases", "replay", "bench"))


def _case(name: str, value: float, bar: float | None) -> Case:
    def run(clocks: Clocks) -> Measured:
        assert clocks.cpu_s() > 0
        return Measured(value=value, wall=2)

    return Case(name=name, unit="jobs/s", run=run, bar=bar, at_least=True, peer="other 1")
