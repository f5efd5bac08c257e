"""POST with a key of the caller's choice is done once: the same request again gets the same answer.

The key comes in the header `Idempotency-Key` or, from a page's form, in the field `idempotency_key`. Its row
and the work are one transaction: of requests that come at once, the unique row lets one work while the others
wait and then read its answer. A refusal (400 and up) is rolled back with everything: the key stays free.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime

from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable

from accounts.models import User
from portal.callers import caller_of
from portal.http_errors import Fault, answer_fault, wants_json
from portal.models import IdempotentAnswer

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotent-Replayed"
FORM_FIELD = "idempotency_key"
MAX_KEY_LENGTH = 200
WAIT_SECONDS = 20  # for the same key being worked on by another request
# Answers with a secret in them are not kept: a repeat is told so instead.
SECRET_PATHS = ("/api/v1/tokens",)


class IdempotencyMiddleware:
    """Applies to POST below `/api/` and to page forms that carry a key."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Do the work, or give the answer that an earlier request got."""
        key = _key(request)
        user = caller_of(request) if key else None  # nobody: the view answers 401
        if key is None or user is None:
            return self._get_response(request)
        if not key.isprintable() or len(key) > MAX_KEY_LENGTH:
            return answer_fault(request, _unusable_key())
        return self._once(request, user=user, key=key, now=timezone.now())

    def _once(self, request: HttpRequest, *, user: User, key: str, now: datetime) -> HttpResponseBase:
        digest = _digest(request)
        try:
            with transaction.atomic():
                mine = _claim(user=user, key=key, digest=digest, now=now)
                if mine:
                    return self._work(request, user=user, key=key)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                return answer_fault(request, _still_running())
            raise
        return _replay(request, IdempotentAnswer.objects.get(user=user, key=key), digest=digest)

    def _work(self, request: HttpRequest, *, user: User, key: str) -> HttpResponseBase:
        response = self._get_response(request)
        if not _accepted(request, response):
            transaction.set_rollback(True)
            return response
        IdempotentAnswer.objects.filter(user=user, key=key).update(
            status=response.status_code,
            content_type=response.headers.get("Content-Type", "")[:100],
            location=response.headers.get("Location", "")[:500],
            body="" if request.path.startswith(SECRET_PATHS) else _text(response),
        )
        return response


def _key(request: HttpRequest) -> str | None:
    if request.method != "POST":
        return None
    if wants_json(request.path):
        return request.headers.get(HEADER)
    return request.POST.get(FORM_FIELD) or None


def _claim(*, user: User, key: str, digest: str, now: datetime) -> bool:
    """Insert the key's row, waiting for whoever is just inserting it. False: it was there."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
        cursor.execute(
            "INSERT INTO portal_idempotentanswer"
            " (user_id, key, request_sha256, status, content_type, location, body, created_at)"
            " VALUES (%s, %s, %s, 0, '', '', '', %s) ON CONFLICT (user_id, key) DO NOTHING",
            [user.pk, key, digest, now.isoformat()],
        )
        inserted: bool = cursor.rowcount == 1
        cursor.execute("SET LOCAL lock_timeout = DEFAULT")
    return inserted


def _accepted(request: HttpRequest, response: HttpResponseBase) -> bool:
    """A page that was shown again with its errors is 200, an accepted form a redirect."""
    limit = range(200, 400) if wants_json(request.path) else range(300, 400)
    return response.status_code in limit


def _replay(request: HttpRequest, answer: IdempotentAnswer, *, digest: str) -> HttpResponseBase:
    if answer.request_sha256 != digest:
        return answer_fault(request, _other_body())
    if request.path.startswith(SECRET_PATHS):
        return answer_fault(request, _secret_shown())
    response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type or None)
    if answer.location:
        response.headers["Location"] = answer.location
    response.headers[REPLAYED_HEADER] = "true"
    return response


def _digest(request: HttpRequest) -> str:
    """SHA-256 of the address and of what was sent; a multipart body by its parts, its boundary is random."""
    digest = hashlib.sha256(request.get_full_path().encode())
    for part in _parts(request):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(request: HttpRequest) -> Iterator[bytes]:
    if request.content_type not in ("multipart/form-data", "application/x-www-form-urlencoded"):
        yield request.body
        return
    for name, values in sorted(request.POST.lists()):
        if name != "csrfmiddlewaretoken":  # differs in every rendering of the same form
            yield from (text.encode(errors="surrogatepass") for text in (name, *map(str, values)))
    for name, files in sorted(request.FILES.lists()):
        for file in files:
            yield from (name.encode(), (file.name or "").encode(), _file_digest(file))


def _file_digest(file: "UploadedFile[bytes]") -> bytes:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.digest()


def _text(response: HttpResponseBase) -> str:
    return response.content.decode() if isinstance(response, HttpResponse) else ""


def _unusable_key() -> Fault:
    message = _("The idempotency key must be 1 to %(max)s printable characters.") % {"max": MAX_KEY_LENGTH}
    return Fault(status=400, code="malformed", message=message)


def _other_body() -> Fault:
    message = _("This idempotency key was used for a different request. Choose a new key for a new request.")
    return Fault(status=422, code="idempotency_key_reused", message=message)


def _secret_shown() -> Fault:
    message = _("This was done before, and its secret is shown only once. Make a new one with a new key.")
    return Fault(status=409, code="conflict", message=message)


def _still_running() -> Fault:
    message = _("The same request is still being worked on. Send it again in a moment.")
    headers = {"Retry-After": "5"}
    return Fault(status=409, code="still_running", message=message, headers=headers)
