"""The layers of `docs/architecture.md` hold: import-linter's contracts, and what it cannot express."""

import ast
import re
import subprocess
import sys

import pytest

from tests.support.code import ROOT, modules

DJANGO_ROOMS = ("platform/", "jobs/", "quotas/")
NOT_THE_SERVER = ("platform/gangline/", "platform/scheduling/")
SKELETON = "platform/gangline/skeleton/"  # files that `gangline init` copies for a user
APPS = ("accounts.", "artifacts.", "cluster.", "eventlog.", "jobs.", "quotas.", "telemetry.")
EDGE = re.compile(r"\.(api|\w+_api|views|tasks|admin|management|\w+_urls|urls|serializers)(\.|$)")
# What of the runtime the server may import: what both sides say, which parameters recipes take, how the
# conductor is launched, and how the supervisor starts Ray's processes.
SHARED = {"protocol", "recipe_params", "launcher", "local"}


def test_the_contracts_hold() -> None:
    """`lint-imports` reads them from pyproject.toml."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_knows_of_the_runtime_only_what_is_shared() -> None:
    """What crosses to the cluster is `ray_runtime.protocol`."""
    found = {
        f"{name}: {module}"
        for name, tree in modules().items()
        if name.startswith(DJANGO_ROOMS) and not name.startswith(NOT_THE_SERVER)
        for module in _runtime_modules(tree)
        if module not in SHARED
    }
    assert found == set()


def test_nothing_inside_an_app_imports_an_edge() -> None:
    """Edges parse, call one service or selector, render; other edges and the project alone import them."""
    found = [
        f"{name}: {part}"
        for name, tree in modules().items()
        if name.startswith(DJANGO_ROOMS)
        and not name.startswith((*NOT_THE_SERVER, "platform/portal/"))
        and not EDGE.search(name.removesuffix(".py").replace("/", "."))
        for part in _imported(tree)
        if part.startswith(APPS) and EDGE.search(part)
    ]
    assert found == []


@pytest.mark.parametrize("name", sorted(SHARED - {"launcher"}))
def test_what_both_sides_share_needs_the_standard_library_alone(name: str) -> None:
    """The server must not load Ray or torch for a word of the protocol."""
    names = _imported(modules()[f"ray_runtime/{name}.py"])
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_torch_is_imported_only_where_training_happens() -> None:
    """A process that does not train does not pay for it."""
    found = [
        name
        for name, tree in modules().items()
        if not name.startswith(("ray_runtime/train/", "benchmarks/", SKELETON))
        and any(part.partition(".")[0] == "torch" for part in _imported(tree))
    ]
    assert found == []


def test_the_environment_is_read_in_one_place() -> None:
    """Settings come from `settings.ENV`; processes that are not Django's read their own few variables."""
    allowed = {
        "jobs/tasks.py",  # hands what Ray needs on to the process that starts the conductor
        "platform/portal/settings.py",
        "platform/portal/asgi.py",
        "platform/portal/celery.py",
        "platform/portal/commands.py",
        "platform/portal/local_platform.py",
        "platform/portal/probe.py",
        "platform/portal/supervisor.py",
    }
    found = [
        name
        for name, tree in modules().items()
        if name.startswith(DJANGO_ROOMS) and not name.startswith(NOT_THE_SERVER) and name not in allowed
        if {"os.environ", "os.getenv"}
        & {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    ]
    assert found == []


def _attributes(tree: ast.Module) -> set[str]:
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _runtime_modules(tree: ast.Module) -> set[str]:
    names = {name.removeprefix("ray_runtime.") for name in _imported(tree) if name.startswith("ray_runtime.")}
    return {name.partition(".")[0] for name in names}


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
