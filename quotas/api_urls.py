"""Addresses below `/api/v1/`. Queues themselves are served beside the jobs, with their counts of jobs."""

from django.urls import path

from quotas.api import UsageView

api_urlpatterns = [path("usage", UsageView.as_view(), name="api-usage")]
