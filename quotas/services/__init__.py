"""Everything that changes queues and the ledger."""

from quotas.services.ledger import hold, release
from quotas.services.queues import create_queue, set_quota

__all__ = ["create_queue", "hold", "release", "set_quota"]
