"""`manage.py seed_demo`: the demo's teams, queues and users on a platform that runs."""

from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import BaseCommand
from django.utils import timezone

from portal.demo_seed import seed_demo
from portal.first_admin import ensure_admin


class Command(BaseCommand):
    """Two teams that share 16 accelerators. Safe to repeat."""

    requires_system_checks = [Tags.security]
    help = "Make two teams with queues, quotas and users; their credentials go into demo.json."

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        env, now = settings.ENV, timezone.now()
        admin = ensure_admin(env.data_dir / "admin.json", public_url=env.public_url, now=now)
        made = seed_demo(env.data_dir / "demo.json", admin=admin, public_url=env.public_url, now=now)
        self.stdout.write("Made the demo's teams." if made else "The demo's teams were there.")
