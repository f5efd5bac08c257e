"""Who is calling: by API token or session. For what runs before or beside Django's and DRF's own views."""

import io

from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from accounts.authentication import TokenAuthentication
from accounts.models import User
from portal.django_handler import Scope

_sessions = SessionMiddleware(lambda _request: HttpResponse())


def caller_of(request: HttpRequest) -> User | None:
    """The user of a request that went through the middlewares; None for nobody and for a bad token."""
    try:
        found = TokenAuthentication().authenticate(Request(request))
    except AuthenticationFailed:
        return None
    user = found[0] if found else request.user
    return user if isinstance(user, User) else None


def caller_of_connection(scope: Scope) -> User:
    """The user of a connection that Django does not see; `NotAuthenticated` or `AuthenticationFailed`."""
    request = ASGIRequest(scope, io.BytesIO())
    found = TokenAuthentication().authenticate(Request(request))
    if found is not None:
        return found[0]
    _sessions.process_request(request)
    user = get_user(request)
    if not isinstance(user, User) or not user.is_active:
        raise NotAuthenticated
    return user


def language_of(scope: Scope) -> str:
    """The language that the caller asks for."""
    return translation.get_language_from_request(ASGIRequest(scope, io.BytesIO()))
