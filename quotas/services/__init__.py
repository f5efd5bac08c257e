"""Everything that changes queues and the ledger."""

from quotas.services.ledger import Claim, hold, hold_many, release
from quotas.services.queues import create_queue, set_quota

__all__ = ["Claim", "create_queue", "hold", "hold_many", "release", "set_quota"]
