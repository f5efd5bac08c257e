"""Django's settings, from one typed environment."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECRET_KEY = "placeholder-until-env"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [ROOT / "locale"]
AUTH_USER_MODEL = "accounts.User"
ROOT_URLCONF = "portal.urls"
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "django.contrib.admin", "rest_framework", "drf_spectacular",
    "accounts", "eventlog", "artifacts", "telemetry", "quotas", "cluster", "jobs", "portal",
]
from urllib.parse import urlsplit
_u = urlsplit(os.environ["DATABASE_URL"])
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": _u.path[1:], "USER": _u.username, "PASSWORD": _u.password, "HOST": _u.hostname, "PORT": _u.port}}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [ROOT / "templates"], "APP_DIRS": True,
  "OPTIONS": {"context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware"]
