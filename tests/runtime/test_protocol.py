"""The words between portal and cluster cross the wire unchanged."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ray_runtime.messages import HostRecord, HostState, PollAnswer, RankExit
from ray_runtime.protocol import (
    EndCause,
    Inventory,
    LaunchSpec,
    NodeReport,
    Order,
    OrderKind,
    Report,
    ReportKind,
    StopIntent,
    StopOrder,
    StreamKind,
    Takeover,
    Wire,
    WorkerSlot,
    attempt_token,
    stream_name,
)

texts = st.text(max_size=20)
numbers = st.integers(min_value=0, max_value=2**53)
slots = st.builds(WorkerSlot, rank=numbers, node=texts, devices=st.lists(numbers, max_size=4).map(tuple))
specs = st.builds(
    LaunchSpec,
    job_id=texts,
    job_name=texts,
    attempt_id=texts,
    attempt_number=numbers,
    token=texts,
    workers=st.lists(slots, max_size=4).map(tuple),
    accelerators_milli=numbers,
    accelerator_type=texts,
    cpus_milli=numbers,
    memory_bytes=numbers,
    command=st.none() | texts,
    params=st.dictionaries(texts, numbers | texts, max_size=3),
    variables=st.dictionaries(texts, texts, max_size=3),
    checkpoint_dir=texts,
    grace_seconds=st.floats(0, 1e6),
)
stops = st.builds(
    StopOrder, intent=st.sampled_from(StopIntent), grace_seconds=st.floats(0, 1e6), reason=texts
)
reports = st.builds(
    Report,
    seq=numbers,
    kind=st.sampled_from(ReportKind),
    job_id=texts,
    attempt_id=texts,
    at_ms=numbers,
    cause=st.none() | st.sampled_from(EndCause),
    exit_code=st.none() | st.integers(-64, 255),
    last_lines=st.lists(texts, max_size=3).map(tuple),
    finished=st.booleans(),
)
nodes = st.builds(
    NodeReport,
    name=texts,
    ray_node_id=texts,
    address=texts,
    alive=st.booleans(),
    labels=st.dictionaries(texts, texts, max_size=3),
    accelerator_type=texts,
    num_accelerators=numbers,
    cpus_milli=numbers,
    memory_bytes=numbers,
    metrics=st.dictionaries(texts, st.floats(0, 1e12), max_size=3),
)
messages = st.one_of(
    slots,
    specs,
    stops,
    reports,
    nodes,
    st.builds(
        Order,
        id=numbers,
        kind=st.sampled_from(OrderKind),
        attempt_id=texts,
        payload=specs.map(LaunchSpec.to_json),
    ),
    st.builds(
        Inventory,
        epoch=numbers,
        incarnation=texts,
        at_ms=numbers,
        nodes=st.lists(nodes, max_size=2).map(tuple),
        attempts=st.dictionaries(texts, texts, max_size=3),
    ),
    st.builds(
        Takeover,
        epoch=numbers,
        attempts=st.lists(specs, max_size=2).map(tuple),
        reported=st.dictionaries(texts, texts, max_size=2),
    ),
    st.builds(
        PollAnswer,
        incarnation=texts,
        seq=numbers,
        records=st.lists(
            st.builds(
                HostRecord,
                attempt_id=texts,
                seq=numbers,
                state=st.sampled_from(HostState),
                ranks=st.lists(numbers, max_size=3).map(tuple),
                exits=st.lists(
                    st.builds(RankExit, rank=numbers, code=numbers, at_ms=numbers), max_size=2
                ).map(tuple),
                last_lines=st.lists(texts, max_size=2).map(tuple),
            ),
            max_size=2,
        ).map(tuple),
    ),
)


@given(message=messages)
def test_every_message_survives_json(message: Wire) -> None:
    """`from_json` is the exact inverse of `to_json`, through real JSON text."""
    text = json.dumps(message.to_json())
    assert type(message).from_json(json.loads(text)) == message


@given(spec=specs)
def test_a_newer_peers_keys_are_ignored(spec: LaunchSpec) -> None:
    """Portal and cluster need not be upgraded at the same moment."""
    data: dict[str, Any] = {**spec.to_json(), "something_new": 1}
    assert LaunchSpec.from_json(data) == spec


def test_an_older_portal_that_tells_no_reported_kinds_is_understood() -> None:
    """The field was added later."""
    assert Takeover.from_json({"epoch": 3, "attempts": []}).reported == {}


def test_tokens_open_one_attempt_only() -> None:
    """Derived, different for each attempt and secret, and never the secret itself."""
    tokens = {attempt_token(secret, attempt) for secret in ("s1", "s2") for attempt in ("a", "b")}
    assert len(tokens) == 4
    assert attempt_token("s1", "a") == attempt_token("s1", "a")
    assert not any("s1" in token for token in tokens)


def test_stream_names() -> None:
    """One per rank and kind."""
    assert [stream_name(3, kind) for kind in StreamKind] == ["rank-3.log", "rank-3.events"]
