"""The cluster's JSON into the protocol's classes: exact, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import wire
from ray_runtime.protocol import EndCause, Inventory, LaunchSpec, NodeReport, Report, ReportKind, WorkerSlot
from refusals import Invalid


def a_report(**told: object) -> Report:
    """Any report."""
    plain: dict[str, object] = {
        "seq": 1,
        "kind": ReportKind.ENDED,
        "job_id": "j",
        "attempt_id": "a",
        "at_ms": 0,
        "cause": EndCause.COMPLETED,
    }
    return Report(**{**plain, **told})  # type: ignore[arg-type]  # what the test says


def test_what_was_sent_is_what_is_read() -> None:
    """Also nested classes, tuples, mappings and what is left out."""
    report = a_report(last_lines=("a", "b"), exit_code=-9, node=None)
    assert wire.read(Report, report.to_json()) == report
    node = NodeReport(
        name="n",
        ray_node_id="r",
        address="x",
        alive=True,
        labels={"a": "b"},
        accelerator_type="slot",
        num_accelerators=4,
        cpus_milli=1,
        memory_bytes=1,
        metrics={"cpu": 0.5, "count": 3},
    )
    inventory = Inventory(epoch=1, incarnation="c", at_ms=1, nodes=(node,), attempts={"a": "running"})
    assert wire.read(Inventory, inventory.to_json()) == inventory
    launch = LaunchSpec(
        job_id="j",
        job_name="n",
        attempt_id="a",
        attempt_number=1,
        token="t",
        workers=(WorkerSlot(rank=0, node="n", devices=(0, 1)),),
        accelerators_milli=1000,
        accelerator_type="slot",
        cpus_milli=0,
        memory_bytes=0,
        params={"any": ["thing"]},
        checkpoint_dir="/c",
        grace_seconds=1.5,
    )
    assert wire.read(LaunchSpec, launch.to_json()) == launch


def test_keys_of_a_newer_peer_are_passed_over() -> None:
    """Nothing else is."""
    assert wire.read(Report, {**a_report().to_json(), "new": 1}) == a_report()


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(a_report().to_json())), _json)
def test_any_value_anywhere_is_read_or_refused(key: str, value: object) -> None:
    """And what is read has the types that the class says."""
    try:
        report = wire.read(Report, {**a_report().to_json(), key: value})
    except Invalid:
        return
    assert isinstance(report.seq, int)
    assert isinstance(report.message, str)
    assert isinstance(report.finished, bool)
    assert all(isinstance(line, str) for line in report.last_lines)


@given(_json)
def test_anything_at_all_is_read_or_refused(value: object) -> None:
    """No other outcome, for each class."""
    for kind in (Report, Inventory, NodeReport, LaunchSpec):
        with pytest.raises(Invalid):
            wire.read(kind, value)


@given(st.text(), st.integers(1, 50))
def test_texts_are_made_fit_to_be_kept(text: str, length: int) -> None:
    """Never longer, never with what a database refuses."""
    kept = wire.storable(text, max_length=length)
    assert len(kept) <= length
    assert "\x00" not in kept
    kept.encode()
