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


class ArrayMemberShape(serializers.Serializer[None]):
    """Which array a job is of, and its combination of values."""

    id = serializers.UUIDField()
    values = serializers.DictField()


class EtaShape(serializers.Serializer[None]):
    """When a waiting job is expected to start, and what that rests on: limits, prediction or unknown."""

    at = serializers.DateTimeField(allow_null=True)
    basis = serializers.CharField()
    text = serializers.CharField()


class ReservedShape(serializers.Serializer[None]):
    """A future start at a place, which nobody behind may delay."""

    starts_at = serializers.DateTimeField()
    basis = serializers.CharField()
    accelerator_type = serializers.CharField()
    placement = WorkerShape(many=True)


class PlannedShape(serializers.Serializer[None]):
    """What the plan holds for a waiting job: devices that are kept for it, a place at a later time."""

    kept = WorkerShape(many=True)
    reserved = ReservedShape(allow_null=True)


class DependencyShape(serializers.Serializer[None]):
    """A job that has to end first."""

    id = serializers.UUIDField()
    state = serializers.CharField()


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
    min_workers = serializers.IntegerField(allow_null=True)
    max_workers = serializers.IntegerField(allow_null=True)
    array = ArrayMemberShape(allow_null=True)
    resources = ResourcesShape()
    accelerators_total = serializers.FloatField()
    step = serializers.IntegerField(allow_null=True)
    total_steps = serializers.IntegerField(allow_null=True)
    reason = ReasonShape(allow_null=True)
    eta = EtaShape(allow_null=True)
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
    depends_on = DependencyShape(many=True)
    planned = PlannedShape(allow_null=True)
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
    eta = EtaShape(allow_null=True)
    planned = PlannedShape(allow_null=True)
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
    eta = EtaShape(allow_null=True)


class PreviewShape(serializers.Serializer[None]):
    """Whether a document is good, and what would become of it."""

    valid = serializers.BooleanField()
    details = ProblemShape(many=True)
    predicted = PredictionShape(allow_null=True)


class PriorityShape(serializers.Serializer[None]):
    """A change of a job."""

    priority = serializers.IntegerField()


class ArrayShape(serializers.Serializer[None]):
    """One submission that became several jobs; `states` counts them."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.CharField()
    owner = serializers.CharField()
    size = serializers.IntegerField()
    concurrent = serializers.IntegerField(allow_null=True)
    states = serializers.DictField()
    spec = serializers.DictField()
    submitted_at = serializers.DateTimeField()


class QuestionShape(serializers.Serializer[None]):
    """What is to be supposed; what is left out is as it is."""

    jobs = serializers.ListField(child=serializers.DictField(), required=False)
    quotas = serializers.DictField(required=False)
    remove_nodes = serializers.ListField(child=serializers.CharField(), required=False)
    cordon_nodes = serializers.ListField(child=serializers.CharField(), required=False)


class SupposedShape(serializers.Serializer[None]):
    """What becomes of a job that was supposed."""

    starts_now = serializers.BooleanField()
    reason = ReasonShape(allow_null=True)
    eta = EtaShape(allow_null=True)


class NamedShape(serializers.Serializer[None]):
    """A job; null where it is another team's."""

    id = serializers.UUIDField(allow_null=True)
    name = serializers.CharField(allow_null=True)


class EvictedShape(NamedShape):
    """A job that would have to leave, by which right and for whom."""

    kind = serializers.CharField()
    beneficiary = serializers.CharField()


class WaitsShape(NamedShape):
    """A job that would wait otherwise than it does."""

    reason = ReasonShape(allow_null=True)
    eta = EtaShape(allow_null=True)


class AnswerShape(serializers.Serializer[None]):
    """What would happen: to the jobs supposed in their order, and to others where it differs from now."""

    jobs = SupposedShape(many=True)
    evicted = EvictedShape(many=True)
    interrupted = NamedShape(many=True)
    starts = NamedShape(many=True)
    waits = WaitsShape(many=True)


class ForecastShape(serializers.Serializer[None]):
    """A waiting job of a queue, in planned order."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    queue = serializers.CharField()
    priority = serializers.IntegerField()
    accelerators_total = serializers.FloatField()
    reason = ReasonShape(allow_null=True)
    eta = EtaShape(allow_null=True)
    planned = PlannedShape(allow_null=True)


class PolicyShape(serializers.Serializer[None]):
    """How the live engine decides."""

    order = serializers.CharField()
    packing = serializers.CharField()
    runtimes = serializers.CharField()
    num_reservations = serializers.IntegerField()
    min_runtime_seconds = serializers.IntegerField()
    max_evictions = serializers.IntegerField(allow_null=True)
    usage_half_life_hours = serializers.IntegerField()
    keep_plans_days = serializers.IntegerField()
    ageing_percent = serializers.IntegerField()
    service_quantum_device_seconds = serializers.IntegerField()
    preempts = serializers.BooleanField()
    damps_size = serializers.BooleanField()
    shares_surplus = serializers.BooleanField()
    takes_later_type = serializers.BooleanField()


class PlanReservationShape(ReservedShape):
    """A reservation with its job."""

    job = serializers.UUIDField()


class PlanShape(serializers.Serializer[None]):
    """One plan of the live engine, or several in a row that said the same."""

    at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    num_plans = serializers.IntegerField()
    duration_ms = serializers.FloatField()
    policy = serializers.DictField()
    num_jobs = serializers.IntegerField()
    num_waiting = serializers.IntegerField()
    num_starts = serializers.IntegerField()
    num_evictions = serializers.IntegerField()
    num_resizes = serializers.IntegerField()
    num_keeps = serializers.IntegerField()
    num_dropped = serializers.IntegerField()
    reservations = PlanReservationShape(many=True)


class DrainShape(serializers.Serializer[None]):
    """The node after a drain, and the jobs that were told to leave it."""

    node = serializers.CharField()
    num_leaving = serializers.IntegerField()


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
    user_limit = serializers.FloatField(allow_null=True)
    type_guarantees = serializers.DictField(child=serializers.FloatField())
    type_limits = serializers.DictField(child=serializers.FloatField())
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
    user_limit = serializers.FloatField(required=False, allow_null=True)
    type_guarantees = serializers.DictField(child=serializers.FloatField(), required=False)
    type_limits = serializers.DictField(child=serializers.FloatField(), required=False)


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
