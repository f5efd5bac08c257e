"""The agent's calls to the portal, each with the token of the attempt that it is about."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from ray_runtime.outputs import OutputFile
from ray_runtime.portal_http import PortalAwayError, PortalRefusedError, call, checked
from ray_runtime.protocol import CODE_PATH, OUTPUT_PATH, STREAM_PATH

_LONG_SECONDS = 600.0
_CHUNK_BYTES = 1 << 20


class AttemptClient:
    """One attempt's paths on the portal."""

    def __init__(self, client: httpx.AsyncClient, *, attempt_id: str, token: str) -> None:
        self._client = client
        self._attempt_id = attempt_id
        self._headers = {"Authorization": f"Bearer {token}"}

    async def append(self, name: str, *, offset: int, body: bytes, final: bool) -> int:
        """Append to a stream. Returns how far the portal has it; where it has less than `offset`, that."""
        path = STREAM_PATH.format(attempt_id=self._attempt_id, name=name)
        params = {"offset": offset, "final": "true" if final else "false"}
        try:
            response = await call(
                self._client, "POST", path, params=params, content=body, headers=self._headers
            )
        except PortalRefusedError as refusal:
            size = refusal.number("size")
            if refusal.status == 409 and size is not None:
                return size
            raise
        return int(response.json()["size"])

    async def put_output(self, output: OutputFile, *, descriptor: int) -> None:
        """Upload one output file from an open descriptor."""
        await call(
            self._client,
            "PUT",
            OUTPUT_PATH.format(attempt_id=self._attempt_id),
            params={"path": output.path, "sha256": output.sha256},
            content=_read(descriptor),
            headers={**self._headers, "Content-Length": str(output.size_bytes)},
            timeout=_LONG_SECONDS,
        )

    async def fetch_code(self, target: Path) -> None:
        """Download the code archive into `target`, which appears only when it is whole."""
        url = CODE_PATH.format(attempt_id=self._attempt_id)
        partial = target.with_name(f"{target.name}.{self._attempt_id}")
        try:
            async with self._client.stream(
                "GET", url, headers=self._headers, timeout=_LONG_SECONDS
            ) as response:
                checked(response)
                with partial.open("wb") as file:
                    async for chunk in response.aiter_bytes():
                        file.write(chunk)
        except httpx.TransportError as error:
            partial.unlink(missing_ok=True)
            raise PortalAwayError(f"GET {url}: {error!r}") from error
        partial.replace(target)


async def _read(descriptor: int) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(os.read, descriptor, _CHUNK_BYTES):
        yield chunk
