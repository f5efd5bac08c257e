"""What an HTTP answer means: a body, a refusal with its details, or trouble that passes."""

from typing import Any

import httpx

from gangline.errors import CommandError, Detail, NotReachable, Refused
from gangline.words import mark, say

TODO_BY_STATUS = {
    401: mark("Log in with `gangline login`, or set GANGLINE_TOKEN."),
    403: mark("See your roles with `gangline whoami` and your queues with `gangline queues`."),
    404: mark("See what there is with `gangline ps -a`."),
    409: mark("Look at the present state with `gangline show` and try again if it still applies."),
    413: mark("List large files that the job does not need in .ganglineignore."),
    429: mark("Wait a little and try again."),
}
TODO_OTHERWISE = mark(
    "Change what is named above; `gangline validate` checks a job file without submitting it."
)


class Passing(Exception):  # noqa: N818  # not an error yet: the caller waits and asks again
    """An answer worth another try: the portal restarts, is busy, or still handles the same request."""

    def __init__(self, error: CommandError, retry_after_seconds: float) -> None:
        super().__init__(error.message)
        self.error, self.retry_after_seconds = error, retry_after_seconds


def check(response: httpx.Response) -> None:
    """Return for a success; raise `Passing`, `Refused` or `NotReachable` for everything else."""
    status = response.status_code
    if response.is_success:
        return
    if status < 400:
        raise NotReachable(
            say(
                "{url} answers with a redirect to {target}.",
                url=response.url,
                target=response.headers.get("location", "?"),
            ),
            todo=say("Log in with that address: `gangline login URL`."),
        )
    error = _error(response)
    if status in (429, 502, 503, 504) or (status == 409 and "retry-after" in response.headers):
        raise Passing(error, _retry_after(response))
    raise error


def parse(response: httpx.Response) -> Any:
    """The JSON body of a success; something else answers at this address if there is none."""
    try:
        return response.json()
    except ValueError as error:
        raise NotReachable(
            say("{url} answers, but not as a Gangline portal does.", url=response.url),
            todo=say("Check the address: `gangline login URL`."),
        ) from error


def _error(response: httpx.Response) -> CommandError:
    status = response.status_code
    try:
        body = response.json()
        message, code = str(body["message"]), str(body["code"])
    except (ValueError, KeyError, TypeError):
        return NotReachable(
            f"{response.url} answers {status} {response.reason_phrase}, not as a portal does."
        )
    if status >= 500:
        return NotReachable(
            say("The portal has a problem: {message}", message=message),
            todo=say("Tell its operator the request's id: {id}.", id=body.get("request_id", "-")),
        )
    details = tuple(
        Detail(str(detail.get("path", "")), str(detail.get("problem", "")))
        for detail in body.get("details") or ()
    )
    todo = body.get("help") or say(TODO_BY_STATUS.get(status, TODO_OTHERWISE))
    return Refused(message, status=status, code=code, details=details, todo=todo)


def _retry_after(response: httpx.Response) -> float:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdigit() else 0.0
