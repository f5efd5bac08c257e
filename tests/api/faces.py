"""REST clients of the cast, and short ways to ask."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from accounts.services import create_token
from tests.jobs.builders import World, document

CONDUCTOR = {"Authorization": "Bearer conductor"}


@dataclass(slots=True)
class Face:
    """The world seen through HTTP. `who` is a name of the cast: owner, teammate, viewer, outsider, ..."""

    world: World
    _clients: dict[str, APIClient] = field(default_factory=dict)

    def client(self, who: str = "owner") -> APIClient:
        """A client with an API token of this user."""
        if who not in self._clients:
            user: User = getattr(self.world.cast, who)
            now = timezone.now()
            _token, secret = create_token(user=user, name="test", expires_at=now + timedelta(days=1), now=now)
            client = APIClient()
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
            self._clients[who] = client
        return self._clients[who]

    def get(self, path: str, who: str = "owner", **params: Any) -> Any:
        """GET below `/api/v1/`."""
        return self.client(who).get(f"/api/v1/{path}", params)

    def post(self, path: str, body: object = None, who: str = "owner", **headers: str) -> Any:
        """POST a JSON body."""
        return self.send("post", path, body, who, **headers)

    def patch(self, path: str, body: object, who: str = "owner") -> Any:
        """PATCH with a JSON body."""
        return self.send("patch", path, body, who)

    def delete(self, path: str, who: str = "owner") -> Any:
        """DELETE."""
        return self.client(who).delete(f"/api/v1/{path}")

    def send(self, method: str, path: str, body: object, who: str = "owner", **headers: str) -> Any:
        """A JSON body, or nothing at all."""
        act = getattr(self.client(who), method)
        if body is None:
            return act(f"/api/v1/{path}", headers=headers or None)
        return act(
            f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers or None
        )

    def submit(self, who: str = "owner", **changes: Any) -> dict[str, Any]:
        """A job through the front door."""
        answer = self.post("jobs", document(**changes), who)
        assert answer.status_code == 201, answer.content
        body: dict[str, Any] = answer.json()
        return body


def runtime(
    method: str, address: str, *, token: str, body: object = None, raw: bytes | None = None, **params: Any
) -> Any:
    """A call of the cluster's side."""
    query = "&".join(f"{name}={value}" for name, value in params.items())
    sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    kind = "application/octet-stream" if raw is not None else "application/json"
    return Client().generic(
        method,
        f"{address}?{query}" if query else address,
        sent,
        content_type=kind,
        headers={"Authorization": f"Bearer {token}"},
    )
