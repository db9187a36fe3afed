"""Django's settings. What differs between installations comes from `controlplane.environment`."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

from controlplane import environment, logs

HEADGATE = environment.load()

BASE_DIR = Path(__file__).resolve().parent.parent
PACKAGED_PAGE = BASE_DIR / "controlplane" / "page"
PACKAGED_DOCS = BASE_DIR / "controlplane" / "docs"
DOCS_SITE = PACKAGED_DOCS if PACKAGED_DOCS.is_dir() else BASE_DIR / "site"
FRONTEND_DIST = PACKAGED_PAGE if PACKAGED_PAGE.is_dir() else BASE_DIR / "frontend" / "dist"

SECRET_KEY = HEADGATE.signing_key()
DEBUG = HEADGATE.debug
ALLOWED_HOSTS = HEADGATE.allowed_hosts
CSRF_TRUSTED_ORIGINS = HEADGATE.trusted_origins

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_structlog",
    "controlplane",
    "pipelines",
]

MIDDLEWARE = [
    "pipelines.api.http.proxies.TrustedProxies",
    "pipelines.api.http.middleware.DatabaseAllowance",
    "django.middleware.security.SecurityMiddleware",
    "pipelines.api.http.middleware.SecurityHeaders",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "pipelines.api.http.middleware.RequestName",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "pipelines.api.http.middleware.one_thread",
]

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
CELERY_APP = "controlplane.celery.app"
APPEND_SLASH = False
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

DATABASES = {"default": HEADGATE.database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_ROOT = FRONTEND_DIST
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/.+-[\w-]{8}\.\w+$"  # the build puts a hash of the content into these names

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

SESSION_COOKIE_AGE = int(HEADGATE.session_lifetime_seconds)  # of the row and the cookie; `sessions` ends idle ones
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HEADGATE.is_https
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HEADGATE.is_https
CSRF_FAILURE_VIEW = "pipelines.api.http.problems.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HEADGATE.is_https else None
SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds()) if HEADGATE.is_https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "pipelines.api.access.authentication.TokenAuthentication",
        "pipelines.api.http.sessions.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["pipelines.api.http.permissions.RolePermission"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "pipelines.api.http.openapi.Schema",
    "EXCEPTION_HANDLER": "pipelines.api.http.problems.exception_handler",
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
MIGRATION_MODULES = {"knox": None}  # its only table is replaced by KNOX_TOKEN_MODEL
KNOX_TOKEN_MODEL = "pipelines.AccessToken"  # noqa: S105 - the name of a table
REST_KNOX = {"TOKEN_TTL": None, "TOKEN_PREFIX": "hg_"}

SPECTACULAR_SETTINGS = {
    "TITLE": "Headgate",
    "DESCRIPTION": "Control plane for the life cycle of streaming pipelines.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["pipelines.api.http.permissions.RolePermission"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": False},
    "COMPONENT_SPLIT_REQUEST": False,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
    "ENUM_NAME_OVERRIDES": {"PauseOnTimeout": ["abort", "stay"], "DrainOnTimeout": ["abort", "stop"]},
}

DJANGO_STRUCTLOG_USER_ID_FIELD = "username"
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_REQUEST_CANCELLED_LOG_LEVEL = logging.INFO
LOGGING = logs.configure(HEADGATE.log_format, HEADGATE.log_level)
