"""A job, and each attempt to run it. `state` is written by `services.transition` alone."""

import uuid

from django.db import models
from django.db.models import Q

TERMINAL = ("succeeded", "failed", "cancelled")
PLACED = ("starting", "running", "stopping")


class JobState(models.TextChoices):
    """The eight states; `lifecycle.py` has their invariants and edges."""

    QUEUED = "queued"
    HELD = "held"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobArray(models.Model):
    """One submission that became several jobs, one for each combination of values. Never changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    team = models.ForeignKey("accounts.Team", models.PROTECT, related_name="+")
    owner = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    spec = models.JSONField()  # the whole document, with its lists
    size = models.PositiveIntegerField()
    cap = models.PositiveIntegerField(null=True)  # how many of its jobs may hold devices at once
    submitted_at = models.DateTimeField()


class Job(models.Model):
    """What a user submitted, and how far it is. Amounts are per worker."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    team = models.ForeignKey("accounts.Team", models.PROTECT, related_name="jobs")
    queue = models.ForeignKey("quotas.Queue", models.PROTECT, related_name="jobs")
    owner = models.ForeignKey("accounts.User", models.PROTECT, related_name="jobs")
    code = models.ForeignKey("artifacts.CodeArchive", models.PROTECT, null=True, related_name="+")
    spec = models.JSONField()  # the whole document, normalised
    priority = models.PositiveIntegerField()
    num_workers = models.PositiveIntegerField()  # that are wanted now; what an attempt got is its placement
    min_workers = models.PositiveIntegerField(null=True)  # of an elastic gang; None: rigid
    max_workers = models.PositiveIntegerField(null=True)
    array = models.ForeignKey(JobArray, models.PROTECT, null=True, related_name="jobs")
    array_values = models.JSONField(null=True)  # its combination
    accelerators_milli = models.PositiveIntegerField()
    cpus_milli = models.PositiveIntegerField()
    memory_bytes = models.BigIntegerField()
    max_runtime_seconds = models.PositiveIntegerField(null=True)  # of one attempt
    grace_seconds = models.PositiveIntegerField()
    retries = models.PositiveIntegerField()  # that it may use, for failures of the program
    node_retries = models.PositiveIntegerField()  # the same, for failures of nodes and platform

    state = models.CharField(max_length=16, choices=JobState)
    intent = models.CharField(max_length=16, blank=True)  # while stopping: a protocol.StopIntent
    cause = models.CharField(max_length=40, blank=True)  # why it is in this state, a lifecycle.Cause
    changed_by = models.ForeignKey("accounts.User", models.PROTECT, null=True, related_name="+")  # None: we
    version = models.PositiveIntegerField(default=1)  # counts the changes that outdate a decision about it
    event_seq = models.PositiveIntegerField(default=0)  # of its newest event
    num_attempts = models.PositiveIntegerField(default=0)
    retries_used = models.PositiveIntegerField(default=0)
    node_retries_used = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True)  # backoff after a failure

    reason = models.JSONField(null=True)  # scheduling.Reason while it waits
    kept = models.JSONField(default=list)  # scheduling.Placement that is being freed for it
    eta = models.JSONField(null=True)  # scheduling.Eta while it waits
    reserved = models.JSONField(null=True)  # scheduling.Reservation, if the plan holds a place and a time
    predicted_ms = models.BigIntegerField(null=True)  # run time of an attempt, from how such jobs ran before
    attained_milli_ms = models.BigIntegerField(default=0)  # service of its ended attempts
    changed_xid = models.BigIntegerField(default=0, editable=False)  # written by a trigger: `jobs.live`
    step = models.BigIntegerField(null=True)  # steps completed, as last reported
    total_steps = models.BigIntegerField(null=True)
    saved_at = models.DateTimeField(null=True)  # its newest whole checkpoint

    submitted_at = models.DateTimeField()
    changed_at = models.DateTimeField()  # of its state
    first_started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["team", "-submitted_at", "id"], name="job_list"),
            models.Index(fields=["state"], condition=~Q(state__in=TERMINAL), name="job_live"),
            models.Index(fields=["changed_xid"], name="job_changed"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=TERMINAL, finished_at__isnull=False)
                | (~Q(state__in=TERMINAL) & Q(finished_at__isnull=True)),
                name="job_terminal_iff_finished",
            ),
            models.CheckConstraint(
                condition=(Q(state="stopping") & ~Q(intent="")) | (~Q(state="stopping") & Q(intent="")),
                name="job_intent_iff_stopping",
            ),
        ]


class Attempt(models.Model):
    """One run of a job on one placement. Live until `ended_at`; a job has at most one live attempt, exactly
    while it is starting, running or stopping.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    placement = models.JSONField()  # [{rank, node, devices}]
    accelerator_type = models.CharField(max_length=60)
    ordered_at = models.DateTimeField()
    running_at = models.DateTimeField(null=True)
    stop_ordered_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_cause = models.CharField(max_length=40, blank=True)  # protocol.EndCause
    exit_code = models.IntegerField(null=True)
    failed_rank = models.PositiveIntegerField(null=True)
    failed_node = models.CharField(max_length=120, blank=True)
    message = models.CharField(max_length=1000, blank=True)
    last_lines = models.JSONField(default=list)
    resumed_step = models.BigIntegerField(null=True)
    command_seq = models.PositiveIntegerField(default=0)  # of its newest order
    missing_since = models.DateTimeField(null=True)  # since when the conductor does not know of it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="attempt_number_once"),
            models.UniqueConstraint(
                fields=["job"], condition=Q(ended_at__isnull=True), name="attempt_live_once"
            ),
        ]


class Dependency(models.Model):
    """A job starts only after another one has ended; `services.dependencies` says how it may end."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="dependencies")
    on = models.ForeignKey(Job, models.CASCADE, related_name="dependents")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "on"], name="dependency_once")]


class SchedulingPolicy(models.Model):
    """The one row (id 1) about how the live engine decides. Absent: the defaults, which are the columns'."""

    order = models.CharField(max_length=20, default="fair_share")
    packing = models.CharField(max_length=20, default="consolidate")
    runtimes = models.CharField(max_length=20, default="predictions")
    num_reservations = models.PositiveIntegerField(default=4)
    min_runtime_seconds = models.PositiveIntegerField(default=0)
    max_evictions = models.PositiveIntegerField(null=True)
    preempts = models.BooleanField(default=True)
    damps_size = models.BooleanField(default=False)
    ageing_percent = models.PositiveIntegerField(default=0)
    service_quantum_device_seconds = models.PositiveIntegerField(default=300)
    shares_surplus = models.BooleanField(default=False)
    takes_later_type = models.BooleanField(default=True)
    usage_half_life_hours = models.PositiveIntegerField(default=0)  # 0: past usage does not count
    keep_plans_days = models.PositiveIntegerField(default=7)


class PlanRecord(models.Model):
    """One plan of the live engine, in numbers. Plans in a row that say the same are one record."""

    at = models.DateTimeField()
    last_at = models.DateTimeField()  # of the last plan that said the same
    num_plans = models.PositiveIntegerField(default=1)
    duration_ms = models.FloatField()  # of deciding alone; of the slowest of them
    policy = models.JSONField()
    num_jobs = models.PositiveIntegerField()  # in the snapshot
    num_waiting = models.PositiveIntegerField()
    num_starts = models.PositiveIntegerField()
    num_evictions = models.PositiveIntegerField()
    num_resizes = models.PositiveIntegerField()
    num_keeps = models.PositiveIntegerField()
    num_dropped = models.PositiveIntegerField()  # decisions that lost their race
    reservations = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["-at"], name="plan_newest")]
