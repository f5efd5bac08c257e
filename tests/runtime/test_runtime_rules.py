"""Rules of this room that a type checker does not see."""

import ast
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent.parent / "ray_runtime"
STDLIB_ONLY = ("protocol", "local", "linux", "process_tree", "start", "rank_host", "nursery", "reporter")


def _names_imported(module: str) -> set[str]:
    tree = ast.parse((RUNTIME / f"{module}.py").read_text())
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return plain | named


def test_nothing_waits_with_wait_for() -> None:
    """It swallows cancellations in Python 3.11 (see `patience`)."""
    users = [path.name for path in RUNTIME.glob("*.py") if "asyncio.wait_for(" in path.read_text()]
    assert users == []


def test_what_runs_in_small_processes_is_standard_library_only() -> None:
    """They start without site packages; portal and supervisor import some of them without Ray."""
    import sys

    allowed = set(sys.stdlib_module_names)
    for module in STDLIB_ONLY:
        roots = {name.split(".")[0] for name in _names_imported(module)}
        assert roots - allowed <= {"ray_runtime"}, module


def test_the_runtime_knows_no_django_app() -> None:
    """It must run where the portal is not installed."""
    apps = {"django", "jobs", "quotas", "portal", "accounts", "cluster", "eventlog", "artifacts", "telemetry"}
    for path in RUNTIME.rglob("*.py"):
        module = str(path.relative_to(RUNTIME).with_suffix(""))
        assert not {name.split(".")[0] for name in _names_imported(module)} & apps, module
