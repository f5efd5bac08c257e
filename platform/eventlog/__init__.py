"""Append-only event log, command outbox, relay."""
