"""`Authorization: Bearer glt_…` for API and CLI."""

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.models import User
from accounts.services.tokens import authenticate_token


class TokenAuthentication(BaseAuthentication):
    """Knows a user by an API token. A wrong or ended token is a 401, never a silent stranger."""

    scheme = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """The token's user; None where no bearer token was sent, so that a session may speak instead."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        user = authenticate_token(words[1].decode("latin-1"), now=timezone.now()) if len(words) == 2 else None
        if user is None:
            raise AuthenticationFailed(_("The API token is not valid any more, or never was. Log in again."))
        return user, "token"

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002  # the framework's signature
        """What a 401 tells the client to send."""
        return f'{self.scheme} realm="gangline"'
