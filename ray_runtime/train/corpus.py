"""Real text that every machine already has: the sources of Python's own standard library, as bytes.

The order of the files is fixed, so every rank on every machine with the same Python sees the same tokens.
"""

import hashlib
import os
import sysconfig
from pathlib import Path

import torch

from ray_runtime.train.cache_folder import cache_folder, locked, replace_whole

VOCABULARY = 256
_SCHEME = 1  # part of the cache's key: raise it when the rules below change
# Code tables and tests are no prose; packages differ from machine to machine.
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "__pycache__"}
_HELD_OUT = 20  # every 20th file is for validation


def load_corpus(split: str, *, root: Path | None = None, cache: Path | None = None) -> torch.Tensor:
    """The `train` or `validation` split as a memory-mapped uint8 tensor; the first to ask builds it."""
    files = _source_files(root or Path(sysconfig.get_paths()["stdlib"]))
    path = (cache or cache_folder()) / f"corpus-{_key(files)}-{split}.bin"
    if not path.exists():
        with locked(path.with_suffix(".lock")):
            if not path.exists():
                replace_whole(path, _join(files, split))
    return torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)


def _source_files(root: Path) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in _LEFT_OUT]  # or walk 20,000 files
        paths = (Path(folder, name) for name in names if name.endswith(".py"))
        found.extend((path.relative_to(root).as_posix(), path) for path in paths)
    return sorted(found)


def _key(files: list[tuple[str, Path]]) -> str:
    digest = hashlib.sha256(f"{_SCHEME}".encode())
    for name, path in files:
        digest.update(f"{name}\0{path.stat().st_size}\n".encode())
    return digest.hexdigest()[:16]


def _join(files: list[tuple[str, Path]], split: str) -> bytes:
    held_out = split == "validation"
    chosen = [path for i, (_, path) in enumerate(files) if (i % _HELD_OUT == _HELD_OUT - 1) == held_out]
    return b"\0".join(path.read_bytes() for path in chosen)


class ByteWindows:
    """A text cut into samples of `context` bytes; the targets are the same bytes one further on."""

    def __init__(self, text: torch.Tensor, *, context: int) -> None:
        if len(text) <= context:
            raise ValueError(f"a text of {len(text)} bytes holds no sample of {context}")
        self._text = text
        self._context = context

    def __len__(self) -> int:
        return (len(self._text) - 1) // self._context

    def fetch(self, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets, int64, each (len(ids), context)."""
        starts = torch.tensor(ids) * self._context
        at = starts[:, None] + torch.arange(self._context + 1)
        window = self._text[at].long()
        return window[:, :-1], window[:, 1:]
