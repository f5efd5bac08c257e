"""The Python client of the public API: one `Portal` per command. The only module that speaks HTTP."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from gangline import VERSION, answers
from gangline.config import Profile
from gangline.errors import BadUsage, CommandError, NotReachable
from gangline.language import accept_language
from gangline.words import say

Json = dict[str, Any]
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
UPLOAD_TIMEOUT = httpx.Timeout(300, connect=5)
LONGEST_BUSY_SECONDS = 30.0  # how much longer than our patience we wait where the portal itself says how long
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 2.0


class Portal:
    """One portal as one user sees it.

    Reads, and writes that are harmless when they arrive twice, are repeated for `patience_seconds` while the
    portal cannot be reached (it restarts, an answer got lost). `on_trouble` hears of it once.
    """

    def __init__(
        self, profile: Profile, *, patience_seconds: float, on_trouble: Callable[[str], None] = lambda _: None
    ) -> None:
        self.url, self.patience_seconds, self._on_trouble = profile.url, patience_seconds, on_trouble
        headers = {"Accept": "application/json", "Accept-Language": accept_language()}
        headers["User-Agent"] = f"gangline/{VERSION}"
        if profile.token:
            headers["Authorization"] = f"Bearer {profile.token}"
        self._http = httpx.Client(
            base_url=f"{profile.url}/api/v1/",
            headers=headers,
            timeout=httpx.Timeout(30, connect=5),
            trust_env=not profile.url.startswith(
                ("http://127.", "http://localhost")
            ),  # no proxy to ourselves
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        """Read one object."""
        return _body(self._exchange("GET", path, params=_given(params)))

    def pages(self, path: str, **params: Any) -> Iterator[Json]:
        """Every item of a list, page by page. Of `next` only the query is used: the portal may know itself by
        another address than we do.
        """
        query: Any = _given(params)
        while query is not None:
            page = _body(self._exchange("GET", path, params=query))
            yield from page if isinstance(page, list) else page["results"]
            following = None if isinstance(page, list) else page.get("next")
            query = httpx.URL(following).params if following else None

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Create or order something, once: every try of this call carries the same Idempotency-Key."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return _body(
            self._exchange("POST", path, json=_finite({} if body is None else body), headers=headers)
        )

    def post_once(self, path: str, body: Any) -> Any:
        """A POST that must not be kept or replayed (it carries a password)."""
        return _body(self._exchange("POST", path, repeatable=False, json=_finite(body)))

    def post_archive(self, path: str, document: Json, archive: Path, *, key: str) -> Any:
        """Submit a document together with its code."""
        spec = json.dumps(document, ensure_ascii=False).encode()
        with archive.open("rb") as file:
            files = {
                "spec": ("job.json", spec, "application/json"),
                "code": (f"code{''.join(archive.suffixes[-2:])}", file, "application/octet-stream"),
            }
            headers = {"Idempotency-Key": key}
            return _body(self._exchange("POST", path, files=files, headers=headers, timeout=UPLOAD_TIMEOUT))

    def patch(self, path: str, body: Json) -> Any:
        """Set values of an object."""
        return _body(self._exchange("PATCH", path, json=_finite(body)))

    def delete(self, path: str) -> None:
        """Remove an object."""
        self._exchange("DELETE", path)

    @contextmanager
    def download(self, path: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a file, as they come."""
        try:
            with self._http.stream("GET", path) as response:
                if response.is_error:
                    response.read()
                answers.check(response)
                yield response.iter_bytes()
        except httpx.TransportError as error:
            raise self._not_reachable(error) from error

    def _exchange(self, method: str, path: str, *, repeatable: bool = True, **content: Any) -> httpx.Response:
        deadline, pause, told = time.monotonic() + self.patience_seconds, FIRST_PAUSE_SECONDS, False
        while True:
            try:
                response = self._http.request(method, path, **content)
                answers.check(response)
                return response
            except httpx.TransportError as error:
                again, failure = repeatable or isinstance(error, NEVER_SENT), self._not_reachable(error)
                wait = pause
            except answers.Passing as passing:
                again, failure, wait = repeatable, passing.error, max(pause, passing.retry_after_seconds)
            grace = LONGEST_BUSY_SECONDS if wait > pause else 0.0
            if not again or time.monotonic() + wait > deadline + grace:
                raise failure
            if not told:
                self._on_trouble(failure.message)
                told = True
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _not_reachable(self, error: httpx.TransportError) -> CommandError:
        return NotReachable(
            say(
                "The portal at {url} does not answer ({why}).",
                url=self.url,
                why=str(error) or type(error).__name__,
            ),
            todo=say(
                "Check its address (`gangline login URL`) and that it runs (`gangline up` runs one here)."
            ),
        )


def _given(params: Mapping[str, Any]) -> Json:
    return {name: value for name, value in params.items() if value is not None}


def _body(response: httpx.Response) -> Any:
    return answers.parse(response) if response.content else None


def _finite(body: Any) -> Any:
    """The body itself. JSON has no infinite numbers, so one in a file or an option is the user's slip."""
    try:
        json.dumps(body, allow_nan=False)
    except ValueError as error:
        raise BadUsage(
            say("One of the numbers given is infinite or not a number: give a finite one.")
        ) from error
    return body
