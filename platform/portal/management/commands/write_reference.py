"""`manage.py write_reference`: the generated pages of docs/reference, anew."""

from typing import Any

from django.core.management.base import BaseCommand

from portal.env import ROOT
from portal.reference import pages


class Command(BaseCommand):
    """A house test compares the pages with what this would write."""

    help = "Write docs/reference/settings.md and api.md from the code."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Write them."""
        for name, text in pages().items():
            path = ROOT / "docs" / "reference" / name
            path.write_text(text)
            self.stdout.write(str(path.relative_to(ROOT)))
