"""What a new platform has before anybody divides it."""

import pytest
from django.utils import timezone

from accounts.services import create_user
from jobs.services.submit import submit_job
from portal.first_queue import ensure_first_queue
from quotas.models import Queue

pytestmark = pytest.mark.django_db


def test_the_first_admin_can_submit_at_once_and_a_repeat_makes_nothing() -> None:
    """One team, one queue without limit, and a job of the admin is accepted in it."""
    now = timezone.now()
    admin = create_user(username="admin", password="a-long-secret-of-tests", is_platform_admin=True, now=now)
    assert ensure_first_queue(admin=admin, now=now)
    assert not ensure_first_queue(admin=admin, now=now)
    queue = Queue.objects.get()
    assert (queue.path, queue.limit_milli) == ("default", None)
    job = submit_job(user=admin, document={"name": "first", "run": "true"}, code=None, now=now)
    assert job.queue == queue
