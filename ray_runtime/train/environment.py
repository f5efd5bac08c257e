"""What the platform (or torchrun, or nobody) tells a rank through its environment. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# A rank that leaves because a peer is gone is no culprit: sysexits' EX_TEMPFAIL tells the two apart.
PEER_LOST_EXIT = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A rank's place among its peers, and where its checkpoints and outputs go; by default a lone process."""

    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    checkpoint_dir: Path | None = None
    checkpoint_every: str = "auto"
    checkpoint_keep: int = 3
    resume_from: Path | None = None
    output_dir: Path | None = None


def read_environment(environ: Mapping[str, str]) -> Environment:
    """The environment of this rank; variables that are not set or empty keep their defaults."""

    def folder(name: str) -> Path | None:
        return Path(environ[name]) if environ.get(name) else None

    return Environment(
        rank=int(environ.get("RANK") or 0),
        local_rank=int(environ.get("LOCAL_RANK") or 0),
        world_size=int(environ.get("WORLD_SIZE") or 1),
        checkpoint_dir=folder("GANGLINE_CHECKPOINT_DIR"),
        checkpoint_every=environ.get("GANGLINE_CHECKPOINT_EVERY") or "auto",
        checkpoint_keep=int(environ.get("GANGLINE_CHECKPOINT_KEEP") or 3),
        resume_from=folder("GANGLINE_RESUME_FROM"),
        output_dir=folder("GANGLINE_OUTPUT_DIR"),
    )
