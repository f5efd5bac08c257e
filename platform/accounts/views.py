"""Pages about oneself: log in, log out, profile, API tokens, and the switches for language and colours."""

from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.forms import LoginForm
from accounts.models import ApiToken, User
from accounts.requests import client_address, reader_of
from accounts.selectors import memberships_of, tokens_of
from accounts.services.profile import change_password, change_profile
from accounts.services.tokens import create_token, revoke_token
from refusals import Invalid

THEMES = ("auto", "light", "dark")
TOKEN_DAYS = (7, 30, 90, 365)
YEAR_SECONDS = 365 * 86_400


class LogIn(LoginView):
    """The log-in form. The first one takes the browser's time zone over, so that times read right."""

    template_name = "accounts/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, and take over what the browser told about its reader."""
        user = form.get_user()
        if isinstance(user, User):
            _adopt_zone(user, str(self.request.POST.get("time_zone", "")))
        return super().form_valid(form)


def _adopt_zone(user: User, name: str) -> None:
    if user.time_zone or not name:
        return
    try:
        change_profile(user=user, time_zone=name)
    except Invalid:
        return  # an unknown name from the browser is no reason to refuse the log-in


@require_POST
def change_preferences(request: HttpRequest) -> HttpResponse:
    """The frame's switches: language and colours, kept in cookies, the language also in the account."""
    response = HttpResponseRedirect(_safe_next(request))
    theme, language = request.POST.get("theme"), request.POST.get("language", "")
    if theme in THEMES:
        _keep(response, "theme", theme)
    if language in dict(settings.LANGUAGES):
        _keep(response, settings.LANGUAGE_COOKIE_NAME, language)
        if isinstance(request.user, User):
            change_profile(user=request.user, language=language)
    return response


def _keep(response: HttpResponse, name: str, value: str) -> None:
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, max_age=YEAR_SECONDS, samesite="Lax", secure=secure)


def _safe_next(request: HttpRequest) -> str:
    target = request.POST.get("next", "/")
    return target if url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}) else "/"


@never_cache
@login_required
@require_GET
def show_profile(request: HttpRequest) -> HttpResponse:
    """The account: teams, language, zone, password, API tokens."""
    return render(request, "accounts/profile.html", _profile(reader_of(request)))


@login_required
@require_POST
def save_profile(request: HttpRequest) -> HttpResponse:
    """Name, language and time zone."""
    user = reader_of(request)
    try:
        change_profile(
            user=user,
            display_name=request.POST.get("display_name", "").strip(),
            language=request.POST.get("language", ""),
            time_zone=request.POST.get("time_zone", ""),
        )
    except Invalid as refusal:
        user.refresh_from_db()
        return _refused(request, user, refusal, section="profile")
    response = redirect("/profile")
    if user.language:
        _keep(response, settings.LANGUAGE_COOKIE_NAME, user.language)
        translation.activate(user.language)
    messages.success(request, _("Saved."))
    return response


@login_required
@require_POST
def save_password(request: HttpRequest) -> HttpResponse:
    """Another password; this browser stays logged in, every other one is logged out."""
    user = reader_of(request)
    current, new = request.POST.get("current", ""), request.POST.get("password", "")
    try:
        change_password(
            user=user, current=current, new=new, address=client_address(request), now=timezone.now()
        )
    except Invalid as refusal:
        return _refused(request, user, refusal, section="password")
    update_session_auth_hash(request, user)
    messages.success(request, _("The password was changed. Other browsers have been logged out."))
    return redirect("/profile")


@never_cache
@login_required
@require_POST
def make_token(request: HttpRequest) -> HttpResponse:
    """A new API token. Its secret is in this answer and nowhere else, so there is no redirect after it."""
    user, now = reader_of(request), timezone.now()
    try:
        token, secret = create_token(
            user=user,
            name=request.POST.get("name", "").strip(),
            expires_at=_expiry(request.POST.get("days", ""), now),
            address=client_address(request),
            now=now,
        )
    except Invalid as refusal:
        return _refused(request, user, refusal, section="token")
    return _tokens(request, user, {"made": token, "secret": secret})


def _expiry(days: str, now: datetime) -> datetime | None:
    return now + timedelta(days=int(days)) if days in map(str, TOKEN_DAYS) else None


@login_required
@require_POST
def drop_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Make one token useless."""
    user = reader_of(request)
    revoke_token(user=user, token_id=token_id, address=client_address(request), now=timezone.now())
    messages.success(request, _("The token was revoked; whatever used it is refused from now on."))
    return redirect("/profile#tokens")


def _tokens(request: HttpRequest, user: User, extra: dict[str, object]) -> HttpResponse:
    """The part with the tokens for htmx, the whole page for a browser without JavaScript."""
    part = request.headers.get("HX-Request") == "true"
    template = "accounts/_tokens.html" if part else "accounts/profile.html"
    return render(request, template, _profile(user) | extra)


def _refused(request: HttpRequest, user: User, refusal: Invalid, *, section: str) -> HttpResponse:
    problems = {problem.path: str(problem.problem) for problem in refusal.details}
    context: dict[str, object] = {"problems": problems, "refused": section, "given": request.POST.dict()}
    if section == "token":
        return _tokens(request, user, context)
    return render(request, "accounts/profile.html", _profile(user) | context, status=422)


def _profile(user: User) -> dict[str, object]:
    tokens: list[ApiToken] = list(tokens_of(user))
    return {
        "section": "profile",
        "now": timezone.now(),
        "memberships": memberships_of(user),
        "tokens": tokens,
        "token_days": TOKEN_DAYS,
        "languages": settings.LANGUAGES,
        "zones": sorted(available_timezones()),
    }
