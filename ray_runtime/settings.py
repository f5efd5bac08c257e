"""What the conductor is told by whoever creates it. No environment, no files."""

import hashlib
import json
from dataclasses import dataclass, field

from ray_runtime.protocol import VERSION, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductorSettings(Wire):
    """The portal and its token, and the patience with each part. Seconds everywhere."""

    portal_url: str
    token: str = field(repr=False)
    orders_wait_seconds: float = 25.0  # one long poll for orders
    silence_seconds: float = (
        6.0  # a node that is not heard for so long, and does not accept a connection, is lost
    )
    agent_return_seconds: float = 30.0  # how long a living node's agent may take to come back
    placement_seconds: float = 10.0  # a reservation that does not stand by then is reported as impossible

    def fingerprint(self) -> str:
        """Tells whether a running conductor has other settings, without showing the token."""
        text = json.dumps([VERSION, self.to_json()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
