"""Everything that changes users, teams, memberships, tokens or the audit."""

from accounts.services.audit import record_audit
from accounts.services.login import check_password, log_in
from accounts.services.profile import change_password, change_profile
from accounts.services.teams import create_team, remove_membership, set_membership
from accounts.services.tokens import authenticate_token, create_token, revoke_token
from accounts.services.users import create_user, set_active, set_password, set_platform_admin

__all__ = [
    "authenticate_token",
    "change_password",
    "change_profile",
    "check_password",
    "create_team",
    "create_token",
    "create_user",
    "log_in",
    "record_audit",
    "remove_membership",
    "revoke_token",
    "set_active",
    "set_membership",
    "set_password",
    "set_platform_admin",
]
