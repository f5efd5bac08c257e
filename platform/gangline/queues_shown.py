"""Which of a queue's values are shown."""

from gangline.render import Column
from gangline.units import amount

QUEUE_TABLE = (
    Column("QUEUE", lambda queue: queue["path"]),
    Column("TEAM", lambda queue: queue.get("team")),
    Column("GUARANTEE", lambda queue: amount(queue["guarantee"]), right=True),
    Column("LIMIT", lambda queue: amount(queue["limit"]) or "none", right=True),
    Column("WEIGHT", lambda queue: queue.get("weight"), right=True),
    Column("USED", lambda queue: amount(queue["used"]), right=True),
    Column("BORROWED", lambda queue: amount(queue.get("borrowed")), right=True),
    Column("RUNNING", lambda queue: queue.get("running"), right=True),
    Column("PENDING", lambda queue: queue.get("pending"), right=True),
)
