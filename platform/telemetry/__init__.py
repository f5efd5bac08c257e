"""Metric series of jobs and nodes."""
