"""The addresses of jobs, queues and nodes below `/api/v1/`, and those that the cluster's side calls."""

from django.urls import URLPattern, URLResolver, path, re_path

from jobs import api, arrays_api, cluster_api, job_parts_api, logs_api, planning_api, queues_api, runtime_urls

ACTS = "|".join(sorted(api.ACTS))
JOB = "(?P<job_id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"

api_urlpatterns: list[URLPattern | URLResolver] = [
    path("jobs", api.JobList.as_view(), name="api-jobs"),
    path("jobs/validate", api.JobValidate.as_view(), name="api-jobs-validate"),
    path("jobs/<uuid:job_id>", api.JobDetail.as_view(), name="api-job"),
    re_path(rf"^jobs/{JOB}/(?P<act>{ACTS})$", api.JobAct.as_view(), name="api-job-act"),
    path("jobs/<uuid:job_id>/clone", api.JobClone.as_view(), name="api-job-clone"),
    path("jobs/<uuid:job_id>/attempts", job_parts_api.JobAttempts.as_view(), name="api-job-attempts"),
    path("jobs/<uuid:job_id>/events", job_parts_api.JobEvents.as_view(), name="api-job-events"),
    path(
        "jobs/<uuid:job_id>/checkpoints",
        job_parts_api.JobCheckpoints.as_view(),
        name="api-job-checkpoints",
    ),
    path("jobs/<uuid:job_id>/outputs", job_parts_api.JobOutputs.as_view(), name="api-job-outputs"),
    path(
        "jobs/<uuid:job_id>/outputs/<uuid:output_id>",
        job_parts_api.JobOutput.as_view(),
        name="api-job-output",
    ),
    path("jobs/<uuid:job_id>/explain", job_parts_api.JobExplanation.as_view(), name="api-job-explain"),
    path("jobs/<uuid:job_id>/metrics", job_parts_api.JobMetrics.as_view(), name="api-job-metrics"),
    path("jobs/<uuid:job_id>/logs", logs_api.JobLog.as_view(), name="api-job-logs"),
    path("arrays/<uuid:array_id>", arrays_api.ArrayDetail.as_view(), name="api-array"),
    path("arrays/<uuid:array_id>/cancel", arrays_api.ArrayCancel.as_view(), name="api-array-cancel"),
    path("queues", queues_api.QueueList.as_view(), name="api-queues"),
    path("queues/<path:path>/forecast", planning_api.QueueForecast.as_view(), name="api-queue-forecast"),
    path("queues/<path:path>", queues_api.QueueDetail.as_view(), name="api-queue"),
    path("cluster/nodes", cluster_api.NodeList.as_view(), name="api-nodes"),
    path("cluster/topology", cluster_api.TopologyTree.as_view(), name="api-topology"),
    path("cluster/utilisation", cluster_api.Utilisation.as_view(), name="api-utilisation"),
    path("nodes/<str:name>/cordon", cluster_api.NodeCordon.as_view(), name="api-node-cordon"),
    path("nodes/<str:name>/drain", cluster_api.NodeDrain.as_view(), name="api-node-drain"),
    path("simulate", planning_api.Simulate.as_view(), name="api-simulate"),
    path("policy", planning_api.PolicyDetail.as_view(), name="api-policy"),
    path("plans", planning_api.PlanList.as_view(), name="api-plans"),
    path("nodes/<str:name>/uncordon", cluster_api.NodeUncordon.as_view(), name="api-node-uncordon"),
    path("schema/job", api.JobSchema.as_view(), name="api-schema-job"),
]
runtime_urlpatterns = runtime_urls.urlpatterns
