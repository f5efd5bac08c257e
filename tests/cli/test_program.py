"""The program as a whole: what it imports, how it starts, its skeleton, its reference, the local platform."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import gangline as package
from gangline import checkout, reference
from gangline.errors import BadUsage
from gangline.jobfile import read_job
from jobs.spec import parse
from tests.cli.conftest import Command

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "platform" / "gangline"
ALLOWED = {"httpx", "typer", "rich", "yaml", "gangline"}


def imported(path: Path) -> set[str]:
    """The top-level names that a module imports, late imports included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_the_client_imports_only_its_four_packages_and_the_standard_library() -> None:
    """It is installed alone on machines that have nothing of the server."""
    skeleton = SOURCE / "skeleton"
    modules = [path for path in SOURCE.rglob("*.py") if skeleton not in path.parents]
    foreign = {path.name: imported(path) - ALLOWED - sys.stdlib_module_names for path in modules}
    assert {name: names for name, names in foreign.items() if names} == {}


def test_help_loads_no_http_library() -> None:
    """It takes longer to import than everything else together; help and completion must be quick."""
    code = (
        "import sys; sys.argv = ['gangline', '--help']\n"
        "from gangline.main import main\n"
        "try: main()\n"
        "except SystemExit: print('httpx' in sys.modules, file=sys.stderr)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "False\n"
    assert "submit" in done.stdout


def test_the_version_is_the_projects() -> None:
    """One number in two places."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == package.VERSION


def test_the_reference_is_in_step_with_the_program() -> None:
    """`make docs` writes it."""
    assert (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8") == reference.render()


def test_init_writes_a_job_that_can_be_submitted(gangline: Command, tmp_path: Path) -> None:
    """And never overwrites a file."""
    folder = tmp_path / "new"
    assert gangline("init", str(folder)).code == 0
    document = yaml.safe_load((folder / "job.yaml").read_text())
    assert (document["code"], document["run"]) == (".", "python train.py --steps 200")
    ast.parse((folder / "train.py").read_text())
    assert gangline("init", str(folder)).code == 2


def test_up_runs_the_supervisor_of_the_checkout_in_this_interpreter() -> None:
    """With the source roots first and without what is meant for the client."""
    environ = {"PATH": "/bin", "GANGLINE_URL": "http://x", "GANGLINE_TOKEN": "t", "GANGLINE_DATA_DIR": "/d"}
    assert checkout.find_checkout({}, ROOT / "docs" / "reference") == ROOT
    assert checkout.server_environment(ROOT, environ) == {
        "PATH": "/bin",
        "GANGLINE_DATA_DIR": "/d",
        "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
    }
    command = checkout.supervisor_command(data_dir=Path("/d"), port=80, seed=None)
    assert command == [sys.executable, "-m", "portal.supervisor", "--data-dir", "/d", "--port", "80"]


def test_up_without_the_servers_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client alone cannot be a platform."""
    monkeypatch.setattr(checkout, "SERVER_PACKAGES", ("json", "no_such_package_here"))
    with pytest.raises(BadUsage) as refused:
        checkout.find_checkout({}, ROOT)
    assert "no_such_package_here" in refused.value.message
    assert "make setup" in refused.value.todo


def test_up_in_a_home_that_is_no_checkout_says_so(tmp_path: Path) -> None:
    """Instead of running another one."""
    with pytest.raises(BadUsage, match="GANGLINE_HOME"):
        checkout.find_checkout({"GANGLINE_HOME": str(tmp_path)}, ROOT)


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "examples").glob("*.yaml")), SOURCE / "skeleton" / "job.yaml"],
    ids=lambda path: path.name,
)
def test_the_job_files_we_ship_are_accepted(path: Path) -> None:
    """By the same reading that the portal does."""
    job_file = read_job(path, [])
    spec = parse(job_file.document, levels=("zone", "rack", "node"))
    assert spec.queue == "research"
