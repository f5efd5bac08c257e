"""The login page's form: the same check, audit and slowing down of guesses as the API's login."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.errors import LoginRefused, TooManyAttempts
from accounts.requests import client_address
from accounts.services.login import check_password


class LoginForm(AuthenticationForm):
    """Name and password; `get_user` is the user who may now be given a session."""

    def clean(self) -> dict[str, Any]:
        """Check both, in the words of `LoginRefused` and `TooManyAttempts`."""
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if username is None or not password:
            return self.cleaned_data  # the fields have said already what is missing
        address = client_address(self.request) if self.request else None
        try:
            self.user_cache = check_password(
                username=username, password=password, address=address, now=timezone.now()
            )
        except (LoginRefused, TooManyAttempts) as refusal:
            raise ValidationError(refusal.message, code=refusal.code) from None
        return self.cleaned_data
