"""Short ways to look at pages as somebody."""

from typing import Any

from django.http import HttpResponse
from django.test import Client

from accounts.models import User

CHINESE = "zh-hans"


def browser_of(user: User | None, *, language: str = "en") -> Client:
    """A browser in which this user is logged in (None: nobody), set to a language."""
    client = Client(headers={"accept-language": language})
    if user is not None:
        client.force_login(user)
    return client


def text_of(response: Any) -> str:
    """The page's source, which must be a page that was found."""
    assert isinstance(response, HttpResponse)
    assert response.status_code == 200, (response.status_code, response.content[:500])
    return response.content.decode()


def part_of(client: Client, address: str) -> str:
    """What htmx gets at an address: the part of the page that changes."""
    return text_of(client.get(address, headers={"hx-request": "true"}))
