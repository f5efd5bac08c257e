"""The Django project: composes every app, knows HTTP."""
