"""Users, teams, memberships and roles, API tokens, audit."""
