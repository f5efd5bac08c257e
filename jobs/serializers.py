"""The shapes of this app's answers, for OpenAPI. Values come from `rendering.py`; a test compares the two."""

from rest_framework import serializers


class ReasonShape(serializers.Serializer[None]):
    """Why a job waits, leaves or ended."""

    code = serializers.CharField()
    params = serializers.DictField()
    text = serializers.CharField()
    help = serializers.CharField()


class WorkerShape(serializers.Serializer[None]):
    """Where one worker runs."""

    rank = serializers.IntegerField()
    node = serializers.CharField()
    devices = serializers.ListField(child=serializers.IntegerField())


class AttemptShape(serializers.Serializer[None]):
    """One run of a job."""

    id = serializers.UUIDField()
    number = serializers.IntegerField()
    placement = WorkerShape(many=True)
    accelerator_type = serializers.CharField()
    ordered_at = serializers.DateTimeField()
    running_at = serializers.DateTimeField(allow_null=True)
    stop_ordered_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end_cause = serializers.CharField(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    failed_rank = serializers.IntegerField(allow_null=True)
    failed_node = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    last_lines = serializers.ListField(child=serializers.CharField())
    resumed_step = serializers.IntegerField(allow_null=True)


class ResourcesShape(serializers.Serializer[None]):
    """What each worker gets."""

    accelerators = serializers.FloatField()
    cpus = serializers.FloatField()
    memory_bytes = serializers.IntegerField()
    types = serializers.ListField(child=serializers.CharField())


class JobShape(serializers.Serializer[None]):
    """A job as lists show it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.CharField()
    queue = serializers.CharField()
    owner = serializers.CharField()
    state = serializers.CharField()
    intent = serializers.CharField(allow_null=True)
    cause = serializers.CharField()
    changed_by = serializers.CharField(allow_null=True)
    priority = serializers.IntegerField()
    workers = serializers.IntegerField()
    resources = ResourcesShape()
    accelerators_total = serializers.FloatField()
    step = serializers.IntegerField(allow_null=True)
    total_steps = serializers.IntegerField(allow_null=True)
    reason = ReasonShape(allow_null=True)
    submitted_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    first_started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    saved_at = serializers.DateTimeField(allow_null=True)
    attempt = AttemptShape(allow_null=True)
    num_attempts = serializers.IntegerField()
    retries_used = serializers.IntegerField()
    node_retries_used = serializers.IntegerField()


class SummaryShape(serializers.Serializer[None]):
    """What an ended job came to."""

    loss_first = serializers.FloatField(allow_null=True)
    loss_last = serializers.FloatField(allow_null=True)
    mfu = serializers.FloatField(allow_null=True)
    wait_seconds = serializers.FloatField()
    run_seconds = serializers.FloatField()


class JobDetailShape(JobShape):
    """A job with its document and, once it has ended, what it came to."""

    spec = serializers.DictField()
    summary = SummaryShape(allow_null=True)


class ActionShape(JobDetailShape):
    """The job after an act; `notice` says why nothing had to be done."""

    notice = serializers.CharField()


class EventShape(serializers.Serializer[None]):
    """Something that happened to a job."""

    seq = serializers.IntegerField()
    kind = serializers.CharField()
    cause = serializers.CharField(allow_null=True)
    actor = serializers.CharField(allow_null=True)
    attempt_id = serializers.UUIDField(allow_null=True)
    data = serializers.DictField()  # type: ignore[assignment]  # a field here, taken out by the metaclass
    at = serializers.DateTimeField()
    text = serializers.CharField()


class CheckpointShape(serializers.Serializer[None]):
    """A checkpoint of a job."""

    id = serializers.UUIDField()
    attempt_id = serializers.UUIDField()
    step = serializers.IntegerField()
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    state = serializers.CharField()
    problem = serializers.CharField()
    saved_at = serializers.DateTimeField()


class OutputShape(serializers.Serializer[None]):
    """A file that a job left."""

    id = serializers.UUIDField()
    attempt_id = serializers.UUIDField()
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()


class QueueStandingShape(serializers.Serializer[None]):
    """Where the job's queue stands; null: no limit."""

    path = serializers.CharField()
    used = serializers.FloatField()
    guarantee = serializers.FloatField()
    limit = serializers.FloatField(allow_null=True)


class ExplanationShape(serializers.Serializer[None]):
    """Why a job is where it is."""

    state = serializers.CharField()
    reason = ReasonShape(allow_null=True)
    ahead = serializers.IntegerField(allow_null=True)
    queue = QueueStandingShape()


class MetricsShape(serializers.Serializer[None]):
    """Series of `[step, value, at_ms]` by name, and the newest number of each name."""

    series = serializers.DictField()
    latest = serializers.DictField()


class LogShape(serializers.Serializer[None]):
    """A piece of one worker's log; the next one begins at `next_offset`."""

    attempt = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField()
    ranks = serializers.ListField(child=serializers.IntegerField())
    offset = serializers.IntegerField()
    next_offset = serializers.IntegerField()
    size = serializers.IntegerField()
    text = serializers.CharField()
    closed = serializers.BooleanField()


class ProblemShape(serializers.Serializer[None]):
    """One thing wrong with the input."""

    path = serializers.CharField()
    problem = serializers.CharField()


class PredictionShape(serializers.Serializer[None]):
    """What would become of a job that were submitted now."""

    starts_now = serializers.BooleanField()
    reason = ReasonShape(allow_null=True)
    predicted_start = serializers.DateTimeField(allow_null=True)


class PreviewShape(serializers.Serializer[None]):
    """Whether a document is good, and what would become of it."""

    valid = serializers.BooleanField()
    details = ProblemShape(many=True)
    predicted = PredictionShape(allow_null=True)


class PriorityShape(serializers.Serializer[None]):
    """A change of a job."""

    priority = serializers.IntegerField()


class SubmissionShape(serializers.Serializer[None]):
    """A job's document as a file or text, and its code as an archive."""

    spec = serializers.CharField()
    code = serializers.FileField(required=False)


class QueueShape(serializers.Serializer[None]):
    """A queue with its numbers in devices; jobs are counted with those of the queues below."""

    path = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    guarantee = serializers.FloatField()
    limit = serializers.FloatField(allow_null=True)
    weight = serializers.IntegerField()
    max_priority = serializers.IntegerField()
    used = serializers.FloatField()
    borrowed = serializers.FloatField()
    pending = serializers.IntegerField()
    running = serializers.IntegerField()
    manageable = serializers.BooleanField()


class QuotaShape(serializers.Serializer[None]):
    """What may be changed of a queue; what is left out stays as it is."""

    guarantee = serializers.FloatField(required=False)
    limit = serializers.FloatField(required=False, allow_null=True)
    weight = serializers.IntegerField(required=False)
    max_priority = serializers.IntegerField(required=False)


class NewQueueShape(QuotaShape):
    """A new queue; it belongs to its parent's team unless another is named."""

    path = serializers.CharField()
    team = serializers.CharField(required=False, allow_null=True)


class OccupantShape(serializers.Serializer[None]):
    """A job on a node, and which devices it holds there."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    devices = serializers.ListField(child=serializers.IntegerField())


class NodeShape(serializers.Serializer[None]):
    """A machine of the cluster; of the jobs on it, those that the reader may see."""

    name = serializers.CharField()
    state = serializers.CharField()
    problem = serializers.CharField()
    cordoned = serializers.BooleanField()
    cordon_reason = serializers.CharField()
    labels = serializers.DictField()
    domains = serializers.DictField()
    address = serializers.CharField()
    accelerator_type = serializers.CharField()
    num_accelerators = serializers.IntegerField()
    cpus = serializers.FloatField()
    memory_bytes = serializers.IntegerField()
    used = serializers.IntegerField()
    devices_used = serializers.ListField(child=serializers.IntegerField())
    jobs = OccupantShape(many=True)
    metrics = serializers.DictField()
    last_seen_at = serializers.DateTimeField()


class UtilisationShape(serializers.Serializer[None]):
    """The cluster in numbers; nodes that are not ready count as nodes only."""

    accelerators_total = serializers.IntegerField()
    used = serializers.IntegerField()
    free = serializers.IntegerField()
    nodes_total = serializers.IntegerField()
    nodes_ready = serializers.IntegerField()
    nodes_cordoned = serializers.IntegerField()
    by_type = serializers.DictField()
    cpus = serializers.FloatField()
    memory_bytes = serializers.IntegerField()


class CordonShape(serializers.Serializer[None]):
    """Why a node is to get no new work."""

    reason = serializers.CharField(required=False)
