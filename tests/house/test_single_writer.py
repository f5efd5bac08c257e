"""A job's state has one writer, `jobs/services/transition.py`: read from the code, not from memory."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.code import modules

WRITER = "jobs/services/transition.py"
BIRTHPLACE = "jobs/services/submit.py"  # a new job is queued; it may construct one and change none
QUERYSET_WRITES = {
    "update",
    "create",
    "bulk_create",
    "get_or_create",
    "update_or_create",
    "acreate",
    "aupdate",
}
# Rows of other tables that have a `state` of their own.
OTHER_STATES = ("platform/cluster/", "platform/artifacts/", "platform/scheduling/")


def test_only_the_transition_writes_a_jobs_state() -> None:
    """No assignment to `.state`, no `update(state=…)`, no raw SQL elsewhere."""
    found = [
        f"{name}:{line}: {what}"
        for name, tree in modules().items()
        if name != WRITER
        and name.startswith(("jobs/", "platform/", "quotas/"))
        and not name.startswith(OTHER_STATES)
        for line, what in writes_of_state(tree)
        if not (name == BIRTHPLACE and what.startswith("Job("))
    ]
    assert found == []


def test_the_transition_does_write_it() -> None:
    """Else the test above would look for the wrong thing."""
    assert list(writes_of_state(modules()[WRITER]))


@pytest.mark.parametrize(
    "code",
    [
        "job.state = 'failed'",
        "job.state: str = 'failed'",
        "job.version, job.state = 2, 'failed'",
        "setattr(job, 'state', 'failed')",
        "Job.objects.filter(pk=1).update(state='failed')",
        "Job.objects.create(state='failed')",
        "Job(name='x', state='failed')",
        "job.save(update_fields=['state'])",
        "Job.objects.bulk_update(jobs, ['state'])",
        "cursor.execute('UPDATE jobs_job SET state = 1')",
    ],
)
def test_every_way_of_writing_is_seen(code: str) -> None:
    """The reader of the code knows each form."""
    assert list(writes_of_state(ast.parse(code)))


@pytest.mark.parametrize("code", ["if job.state == 'failed': pass", "Job.objects.filter(state='failed')"])
def test_reading_is_not_writing(code: str) -> None:
    """A filter names the state too."""
    assert not list(writes_of_state(ast.parse(code)))


def writes_of_state(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each expression that writes an attribute, column or field called `state`."""
    for node in ast.walk(tree):
        assigns = isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and _assigns(node)
        if assigns or (isinstance(node, ast.Call) and _call_writes(node)):
            assert isinstance(node, ast.stmt | ast.expr)
            yield node.lineno, ast.unparse(node)


def _assigns(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for target in targets for part in ast.walk(target)]
    return any(isinstance(part, ast.Attribute) and part.attr == "state" for part in parts)


def _call_writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    keywords = {keyword.arg for keyword in call.keywords}
    words = {node.value for node in ast.walk(call) if isinstance(node, ast.Constant)}
    if name in QUERYSET_WRITES or name == "Job":
        return "state" in keywords
    if name in ("setattr", "bulk_update") or (name == "save" and "update_fields" in keywords):
        return "state" in words
    sql = [word.upper() for word in words if isinstance(word, str)]
    return name == "execute" and any("JOBS_JOB" in text and "SET" in text and "STATE" in text for text in sql)
