"""Everything that brings files in, and the ways to their bytes."""

from artifacts.services.checkpoints import mark_checkpoint_damaged, record_checkpoint, retire_checkpoints
from artifacts.services.code import open_code, store_code
from artifacts.services.outputs import open_output, save_output
from artifacts.services.streams import Appended, append_stream, open_stream, read_stream, ship_streams

__all__ = [
    "Appended",
    "append_stream",
    "mark_checkpoint_damaged",
    "open_code",
    "open_output",
    "open_stream",
    "read_stream",
    "record_checkpoint",
    "retire_checkpoints",
    "save_output",
    "ship_streams",
    "store_code",
]
