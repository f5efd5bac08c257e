"""The log of conductor and agents: Ray keeps it per worker process, we give each line a time and a place."""

import logging

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def set_up_log() -> None:
    """Once, at the start of an actor. Ray leaves the root logger without a handler."""
    logging.basicConfig(level=logging.INFO, format=_FORMAT)
    for chatty in ("httpx", "httpcore", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
