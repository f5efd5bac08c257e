"""Where files may lie and how large they may grow."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.support.code import ROOT, modules, source_files

SOURCE_ROOT = ROOT / "platform"
MOST_LINES = 500
# Larger on purpose, each with its reason.
LARGER: dict[str, str] = {}


def test_the_source_root_holds_no_module_of_its_own() -> None:
    """A package called `platform` would hide the standard library's module; Django and Ray would break."""
    assert [path.name for path in SOURCE_ROOT.glob("*.py")] == []


def test_no_room_is_named_like_something_that_others_import() -> None:
    """`platform/` is on the import path: a child called `redis` would stand before the real one."""
    taken = sys.stdlib_module_names | (set(packages_distributions()) - {"gangline", "ray_runtime"})
    rooms = {path.name for path in SOURCE_ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms & taken == set()


def test_every_module_stays_small() -> None:
    """Every module of a thousand lines is one where rules leak."""
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in source_files()}
    large = {name: number for name, number in lines.items() if number > MOST_LINES and name not in LARGER}
    assert large == {}


def test_every_module_says_what_lives_in_it() -> None:
    """Migrations are generated and need no nameplate."""
    silent = [name for name, tree in modules().items() if tree.body and not ast.get_docstring(tree)]
    assert silent == []


def test_no_module_is_named_for_what_does_not_fit_elsewhere() -> None:
    """Such a module is an attic."""
    attics = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}
    assert [name for name in modules() if Path(name).stem in attics] == []


def test_no_work_is_left_open_in_the_code() -> None:
    """What is not done is not hinted at either."""
    words = ("TODO", "FIXME", "XXX", "HACK")
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in source_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(f"# {word}" in line for word in words)
    ]
    assert left == []


def test_the_client_needs_four_packages() -> None:
    """`pip install .` is the command line alone; the server's packages are an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {name.partition(">")[0] for name in project["dependencies"]} == {
        "httpx",
        "typer",
        "rich",
        "pyyaml",
    }
