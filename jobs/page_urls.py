"""Pages about jobs, queues and the cluster."""

from django.urls import path

from jobs.views import actions, cluster_map, detail, listing, log_pages, queues, submit

TABS = [name for name in detail.TABS if name != "overview"]

page_urlpatterns = [
    path("jobs", listing.list_jobs, name="jobs"),
    path("jobs/new", submit.new_job, name="job_new"),
    path("jobs/new/check", submit.check, name="job_check"),
    path("jobs/<uuid:job_id>", detail.show_job, name="job"),
    *(path(f"jobs/<uuid:job_id>/{tab}", detail.show_job, {"tab": tab}, name=f"job_{tab}") for tab in TABS),
    path("jobs/<uuid:job_id>/log", log_pages.log_window, name="job_log_window"),
    path("jobs/<uuid:job_id>/log/search", log_pages.log_search, name="job_log_search"),
    *(
        path(f"jobs/<uuid:job_id>/{name}", actions.act, {"action": name}, name=f"job_{name}")
        for name in actions.ACTS
    ),
    path("jobs/<uuid:job_id>/priority", actions.set_priority, name="job_priority"),
    path("jobs/<uuid:job_id>/delete", actions.delete, name="job_delete"),
    path("queues", queues.show_queues, name="queues"),
    path("cluster/nodes/<path:name>/drain", actions.drain, name="node_drain"),
    path("cluster", cluster_map.show_cluster, name="cluster"),
]
