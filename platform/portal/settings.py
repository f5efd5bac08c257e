"""Django's settings: constants of the product, and what `Env` says about this installation."""

import os
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from portal.env import ROOT, Env, EnvError, read_env


def _env() -> Env:
    try:
        return read_env(os.environ)
    except EnvError as error:
        raise ImproperlyConfigured(f"The environment cannot be used:\n{error}") from None


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": parts.port or "",
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **dict(parse_qsl(parts.query)),
            # Requests run in threads that come and go, so connections are kept by a pool and not by thread.
            "pool": {"min_size": 1, "max_size": 16, "timeout": 10},
            "options": "-c statement_timeout=60s -c idle_in_transaction_session_timeout=120s",
        },
    }


ENV = _env()

# --- the product -----------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "accounts",
    "eventlog",
    "artifacts",
    "telemetry",
    "quotas",
    "cluster",
    "jobs",
    "portal",
]
MIDDLEWARE = [
    "portal.request_ids.RequestIdMiddleware",
    "portal.metrics.MetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "portal.content_policy.ContentPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.login_guard.LoginGuardMiddleware",
    "portal.reader.ReaderMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "portal.http_errors.RefusalMiddleware",
    "portal.idempotency.IdempotencyMiddleware",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "django.template.context_processors.tz",
            ]
        },
    }
]

# --- this installation -----------------------------------------------------------------------------------
SECRET_KEY = ENV.secret_key
DEBUG = ENV.debug
ALLOWED_HOSTS = [*ENV.allowed_hosts, urlsplit(ENV.public_url).hostname or ""]
DATABASES = {"default": _database(ENV.database_url)}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": ENV.redis_url,
        "KEY_PREFIX": "gangline-cache",
    }
}

# --- who -------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"

# --- languages and times ---------------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [ROOT / "locale"]

# --- files -----------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True  # no collecting step: the files of the checkout or the image are what is served
FILE_UPLOAD_MAX_MEMORY_SIZE = 2**20
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20  # bodies that are not files: job documents are far below
FILE_UPLOAD_PERMISSIONS = 0o600

# --- the browser's guards --------------------------------------------------------------------------------
SESSION_COOKIE_NAME = "gangline_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENV.https
CSRF_COOKIE_NAME = "gangline_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = ENV.https
CSRF_TRUSTED_ORIGINS = [ENV.public_url]
CSRF_FAILURE_VIEW = "portal.http_errors.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.https else None
SECURE_SSL_REDIRECT = False  # the proxy's job; health checks come in plain
SECURE_HSTS_SECONDS = 31_536_000 if ENV.https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- REST ------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "portal.pagination.CursorPages",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["portal.throttling.UserThrottle", "portal.throttling.AddressThrottle"],
    "DEFAULT_THROTTLE_RATES": {"user": "6000/min", "address": "600/min"},
    "EXCEPTION_HANDLER": "portal.http_errors.api_error",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gangline",
    "DESCRIPTION": "Training platform for AI clusters: jobs, queues, quotas, nodes.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": r"/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# --- Celery: see portal/celery.py ------------------------------------------------------------------------
CELERY_BROKER_URL = ENV.redis_url

# --- logs: to standard error, one line each --------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "portal.request_ids.RequestIdFilter"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"level": "INFO"},
        "django.request": {"level": "ERROR"},  # refusals are answers, not warnings
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "botocore": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
    },
}
