"""What every test can use: servers of this run (or those of the environment), and a whole platform."""

import sys
from collections.abc import Iterator

import django
import pytest
from hypothesis import settings as hypothesis_settings

from tests.support.platform import LivePlatform, running_platform
from tests.support.servers import TestServers, plan_servers

# How long one example takes is the machine's affair; the suite's own timeout bounds it.
hypothesis_settings.register_profile("gangline", deadline=None)
hypothesis_settings.load_profile("gangline")

# Before Django's settings read the environment, and so before any other file of the tests is imported.
_SERVERS = plan_servers()
django.setup()


def pytest_configure() -> None:
    """Hash passwords fast: Argon2 takes 0.1 s by design, and tests make hundreds of users."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _no_memory_of_other_tests() -> None:
    """What this process knows of the jobs goes with the test's rows, which are rolled back."""
    if "jobs.live" in sys.modules:
        sys.modules["jobs.live"].LIVE.forget()
    if "jobs.services.predictions" in sys.modules:
        sys.modules["jobs.services.predictions"].PREDICTOR.forget()


@pytest.fixture(scope="session")
def servers() -> TestServers:
    """PostgreSQL and Redis are up. Tests with a database need not ask for it."""
    _SERVERS.start()
    return _SERVERS


@pytest.fixture(scope="session")
def django_db_setup(servers: TestServers, django_db_setup: None) -> None:
    """pytest-django's own, once the servers are up."""


@pytest.fixture(scope="session")
def live_platform() -> Iterator[LivePlatform]:
    """The whole platform, started once per run; tests leave it working, with the demo's teams."""
    with running_platform() as platform:
        yield platform
