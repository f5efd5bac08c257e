"""Bad input of every kind: a clear refusal in one shape, never a 500."""

import io
import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.models import Job
from jobs.spec import KEYS
from tests.api.faces import Face
from tests.jobs.builders import document

ERROR = {"code", "message", "params", "details", "request_id"}
NO_ID = "00000000-0000-0000-0000-000000000000"


def assert_refused(answer: Any) -> None:
    """A 4xx in our shape, with a sentence."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.content[:500])
    assert set(answer.json()) == ERROR
    assert answer.json()["message"]


BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"7",
    b'"x"',
    b"\xff\xfe\x00",
    b'{"name": "a", "name": "b"}',
    b'{"name": NaN}',
    b"[" * 100_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b'{"name": "\\ud800", "run": "x"}',
    b'{"name": "a\\u0000", "run": "x"}',
    b'{"\\ud800": 1}',
    b'{"name": "n", "run": "x", "params": {"a": ' + b"9" * 5_000 + b"}}",
    b'{"name": "n", "run": "x", "workers": 1e400}',
    b" " * 2_000_000,
]


@pytest.mark.parametrize(
    "path", ["jobs", "jobs/validate", "queues", f"jobs/{NO_ID}/cancel", "jobs/{id}", "nodes/n1/cordon"]
)
@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
def test_no_body_is_a_server_error(face: Face, path: str, kind: str) -> None:
    """Whatever is sent where, and no job comes of it."""
    job = face.submit()
    send = face.client().patch if "{id}" in path else face.client().post
    for body in BODIES:
        answer = send(f"/api/v1/{path.format(id=job['id'])}", body, content_type=kind)
        if path == "jobs/validate" and answer.status_code == 200:
            assert answer.json()["valid"] is False
        else:
            assert_refused(answer)
    assert Job.objects.count() == 1


KINDS = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "image/png", "x;;;="]


def test_other_kinds_of_bodies_are_refused(face: Face) -> None:
    """With 415, or as the broken forms that they are."""
    for kind in KINDS:
        assert_refused(face.client().generic("POST", "/api/v1/jobs", "name=x", content_type=kind))


FORMS: list[dict[str, Any]] = [
    {},
    {"spec": ""},
    {"spec": "{"},
    {"spec": "a: [1"},
    {"spec": "\x00"},
    {"spec": "7"},
    {"code": "text"},
    {"spec": json.dumps(document()), "code": "text"},
    {"spec": json.dumps(document()), "code": ""},
]


def test_no_form_is_a_server_error(face: Face) -> None:
    """Missing, empty and wrong parts."""
    for form in FORMS:
        assert_refused(face.client().post("/api/v1/jobs", form, format="multipart"))


def test_a_file_that_is_no_document_is_refused(face: Face) -> None:
    """Binary under the name of the document, an empty archive."""
    for spec, code in ((b"\xff\x00", b"x"), (json.dumps(document()).encode(), b"")):
        parts = {"spec": io.BytesIO(spec), "code": io.BytesIO(code)}
        assert_refused(face.client().post("/api/v1/jobs", parts, format="multipart"))


QUERIES = [
    ("jobs", "limit=x"),
    ("jobs", "limit=-1"),
    ("jobs", "cursor=x"),
    ("jobs", "cursor=cD14"),
    ("jobs", "cursor=cD0wMDAwLTAwLTAw"),
    ("jobs", "cursor=bz0tMQ=="),
    ("jobs", "cursor=" + "A" * 5_000),
    ("jobs", "state=unknown"),
    ("jobs", "search=%00"),
    ("jobs", "search=%ED%A0%80"),
    ("jobs", "search=" + "x" * 5_000),
    ("jobs", "owner=%F0%9F%9A%80&team=%27&queue=../.."),
    ("jobs/{id}/events", "after=-1"),
    ("jobs/{id}/events", "after=99999999999999999999"),
    ("jobs/{id}/events", "cursor=cD14"),
    ("jobs/{id}/attempts", "cursor=cD14"),
    ("jobs/{id}/checkpoints", "cursor=cD14"),
    ("jobs/{id}/outputs", "cursor=cD14"),
    ("jobs/{id}/logs", "attempt=0"),
    ("jobs/{id}/logs", "attempt=7"),
    ("jobs/{id}/logs", "rank=-1"),
    ("jobs/{id}/logs", "offset=x"),
    ("jobs/{id}/logs", "offset=" + "9" * 400),
    ("jobs/{id}/logs", "limit=0"),
    ("jobs/{id}/logs", "limit=99999999999"),
    ("jobs/{id}/logs", "tail=-1"),
    ("jobs/{id}/logs", "tail=%D9%A3"),
    ("jobs/{id}/metrics", "max_points=0"),
    ("jobs/{id}/metrics", "max_points=x"),
    ("jobs/{id}/metrics", "names=" + "a," * 3_000),
    ("jobs/{id}/metrics", "names=%22%27%5B%5D.%25s"),
    ("jobs/{id}/outputs/x", ""),
    ("jobs/{id}/outputs/" + NO_ID, ""),
    ("jobs/x", ""),
    ("jobs/{id}/nothing", ""),
    ("jobs/%00", ""),
    ("queues/..%2f..%2fetc", ""),
    ("queues/%00", ""),
    ("queues/" + "a/" * 300, ""),
    ("nodes/%2e%2e/cordon", ""),
]


def test_no_address_is_a_server_error(face: Face) -> None:
    """Answered, or refused in our shape."""
    job, _attempt = face.world.running()
    for path, query in QUERIES:
        address = f"/api/v1/{path.format(id=job.id)}" + (f"?{query}" if query else "")
        answer = face.client().get(address)
        if answer.status_code != 200:
            assert_refused(answer)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", "jobs"),
        ("delete", "jobs"),
        ("patch", "jobs"),
        ("get", "jobs/{id}/cancel"),
        ("post", "cluster/nodes"),
    ],
)
def test_other_methods_are_405(face: Face, method: str, path: str) -> None:
    """In our shape."""
    job, _attempt = face.world.running()
    answer = getattr(face.client(), method)(f"/api/v1/{path.format(id=job.id)}")
    assert answer.status_code == 405
    assert_refused(answer)


def test_an_unreadable_token_is_401(db: None) -> None:
    """Whatever stands in the header."""
    for given_token in ("Bearer", "Bearer \u00ff", "Basic x", "Bearer " + "x" * 5_000, "Bearer a b"):
        answer = Client().get("/api/v1/jobs", headers={"Authorization": given_token})
        assert answer.status_code == 401


_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=15)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_inner_keys = st.sampled_from(
    [
        "accelerators",
        "types",
        "cpus",
        "memory",
        "job",
        "within",
        "variables",
        "every",
        "keep",
        "from",
        "grace",
    ]
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.dictionaries(
        st.sampled_from(KEYS) | st.text(max_size=8),
        _values | st.dictionaries(_inner_keys, _values, max_size=4),
        max_size=6,
    )
)
def test_any_document_is_a_job_or_a_refusal(face: Face, changes: dict[str, Any]) -> None:
    """Through the whole front door: 201, or a 4xx with the paths of its problems."""
    answer = face.post("jobs", {**document(), **changes})
    if answer.status_code == 201:
        assert face.get(f"jobs/{answer.json()['id']}").status_code == 200
        assert face.post(f"jobs/{answer.json()['id']}/clone").status_code == 201
    else:
        assert_refused(answer)
        assert answer.json()["details"]
