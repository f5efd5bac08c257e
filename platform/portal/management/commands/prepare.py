"""`manage.py prepare`: what must be there before the services start."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils import timezone

from portal.demo_seed import seed_demo
from portal.first_admin import ensure_admin
from portal.first_queue import ensure_first_queue


class Command(BaseCommand):
    """Schema, first platform admin, a first queue or, if asked, the demo's teams. Safe to repeat."""

    requires_system_checks = [Tags.security]
    help = "Bring the schema up to date, make the first platform admin and a first queue."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One option."""
        parser.add_argument("--seed", choices=["demo"])

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        env, now = settings.ENV, timezone.now()
        call_command("migrate", interactive=False, verbosity=1, stdout=self.stdout)
        admin = ensure_admin(env.data_dir / "admin.json", public_url=env.public_url, now=now)
        if options["seed"] == "demo":
            made = seed_demo(env.data_dir / "demo.json", admin=admin, public_url=env.public_url, now=now)
            self.stdout.write("Made the demo's teams." if made else "The demo's teams were there.")
        elif ensure_first_queue(admin=admin, now=now):
            self.stdout.write("Made a first team and queue, both called default.")
