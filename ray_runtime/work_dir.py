"""Where conductor and agents keep files on a node."""

import os
import tempfile
from pathlib import Path

from ray_runtime.local import WORK_DIR_VARIABLE


def work_dir() -> Path:
    """The node's folder: from the raylet's environment, else one per account in the temp folder."""
    fallback = Path(tempfile.gettempdir()) / f"gangline-{os.getuid()}"
    return private_folder(Path(os.environ.get(WORK_DIR_VARIABLE) or fallback))


def private_folder(path: Path) -> Path:
    """Made with mode 0700, or ours already: another account must not lie in wait at a known name."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another account")
    path.chmod(0o700)
    return path
