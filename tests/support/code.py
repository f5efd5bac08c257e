"""The product's own source code, for tests that read it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("platform", "jobs", "quotas", "ray_runtime", "benchmarks", "tests")


def source_files(*, tests: bool = True) -> list[Path]:
    """Every Python file that a person wrote, in order."""
    found = [
        path for folder in FOLDERS if tests or folder != "tests" for path in (ROOT / folder).rglob("*.py")
    ]
    return sorted(path for path in found if not {"migrations", "__pycache__"} & set(path.parts))


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of each of the product's modules, by its path from the root."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in source_files(tests=False)}
