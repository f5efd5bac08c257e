"""The demo's memory figure counts real processes, also those that left the tree."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.demo import machine, memory
from gangline.demo.jobs import pretraining

BIG = "import sys; held = bytearray(64 * 2**20); print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds 64 MiB until its input is closed, with a word of its own on its command line."""
    command = [sys.executable, "-c", BIG, f"marker-{uuid.uuid4()}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_the_tree_holds_the_process_and_its_children(child: subprocess.Popen[bytes]) -> None:
    """From any root above it."""
    assert memory.tree(child.pid) == {child.pid}
    assert child.pid in memory.tree(os.getpid())


def test_pss_is_at_least_what_the_process_alone_holds(child: subprocess.Popen[bytes]) -> None:
    """A process that is gone holds nothing."""
    assert memory.pss_bytes(child.pid) > 64 * 2**20
    child.kill()
    child.wait()
    assert memory.pss_bytes(child.pid) == 0


def test_the_peak_counts_members_that_left_the_tree(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the word on their command line."""
    monkeypatch.setattr(memory, "EVERY_SECONDS", 0.01)
    assert isinstance(child.args, list)
    with memory.MemoryPeak(2**22 + 1, marker=child.args[-1]) as peak:
        while not peak.bytes:
            pass
    assert peak.bytes > 64 * 2**20


@pytest.mark.parametrize(
    ("quota", "most"),
    [("max 100000\n", 10**6), ("200000 100000\n", 2), ("50000 100000", 1), ("nonsense", 10**6)],
)
def test_a_containers_share_of_the_cores_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, most: int
) -> None:
    """The first job is made long enough for the machine, and not longer."""
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    monkeypatch.setattr(machine, "CPU_QUOTA", file)
    assert machine.num_cpus() == min(most, len(os.sched_getaffinity(0)))


def test_the_first_job_is_longer_on_a_faster_machine() -> None:
    """Else it would be over before the second asked for its guarantee."""
    steps = [pretraining("q", num_cpus=cpus)["params"]["steps"] for cpus in (1, 2, 16, 200)]
    assert steps == [240, 240, 1920, 3840]
