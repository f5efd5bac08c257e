"""The ASGI application that uvicorn serves; `dispatch` has it, this loads the apps first."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

from portal.dispatch import application  # noqa: E402  # only once the apps are loaded

__all__ = ["application"]
