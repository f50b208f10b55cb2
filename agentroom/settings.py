"""One file of settings. With nothing set, everything runs: SQLite, no other service, mail on the console."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.utils.csp import CSP

BASE_DIR = Path(__file__).resolve().parent.parent


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def env_bool(name: str, default: bool) -> bool:
    value = env(name).strip().lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"{name} is {value!r}: say yes or no.")


def env_int(name: str, default: int) -> int:
    value = env(name).strip()
    return int(value) if value else default


def env_days(name: str, default: int | None) -> int | None:
    """A whole number of days, 1 or more."""
    value = env(name).strip()
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:9]) <= 36_500:
        raise ValueError(f"{name} is {value!r}: say a whole number of days from 1 to 36500, or leave it out.")
    return int(value)


def env_secret(name: str) -> str:
    """The variable, or the content of the file that ``NAME_FILE`` names."""
    path = env(f"{name}_FILE")
    return Path(path).read_text(encoding="utf-8").strip() if path else env(name)


def random_key() -> str:
    from django.core.management.utils import get_random_secret_key

    return get_random_secret_key()


def signing_key() -> str:
    """An RSA key, as PEM."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def kept_secret(name: str, file: str, make: Callable[[], str] = random_key) -> str:
    """A secret from the environment, else one that is made once and kept in the data folder."""
    value = env_secret(name)
    if value:
        return value
    path = DATA / file
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Whole before it has its name: processes that start together all read the same.
        fresh = DATA / f"{file}.{secrets.token_hex(8)}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(make())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="utf-8").strip()


DATA = Path(env("AGENTROOM_DATA", str(BASE_DIR / "data"))).resolve()
DEBUG = env_bool("AGENTROOM_DEBUG", False)
SECRET_KEY = kept_secret("SECRET_KEY", "secret-key")
PUBLIC_URL = env("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(PUBLIC_URL)
_secure = _public.scheme == "https"

ALLOWED_HOSTS = [_public.hostname or "127.0.0.1", "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env_bool("TRUST_PROXY", False) else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if _secure else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}

SIGN_UP = env("SIGN_UP", "invite")
"""``closed``, ``invite`` (by an invite link) or ``open``."""

INSTALLED_APPS = [
    # Twisted costs every process a second and 20 MB: it is here for whoever serves with it.
    *(["daphne"] if env("AGENTROOM_SERVER") == "daphne" or "runserver" in sys.argv else []),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "channels",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.idp.oidc",
    "ninja",
    "rooms",
    "messaging",
    "approvals",
    "agentroom",
]

SOCIAL = [name.strip() for name in env("SOCIAL_PROVIDERS").split(",") if name.strip()]
"""allauth's names of the providers that people may sign in with, such as ``github,google,openid_connect``.

Each wants ``NAME_CLIENT_ID`` and ``NAME_CLIENT_SECRET``; ``openid_connect`` also its server, ``OPENID_CONNECT_URL``.
"""
if SOCIAL:
    INSTALLED_APPS += ["allauth.socialaccount", *(f"allauth.socialaccount.providers.{name}" for name in SOCIAL)]


def social_app(name: str) -> dict[str, Any]:
    """What allauth wants to know of one provider; a missing variable stops the start, in words."""
    known = {key: env_secret(f"{name.upper()}_{key.upper()}") for key in ("client_id", "client_secret")}
    missing = [f"{name.upper()}_{key.upper()}" for key, value in known.items() if not value]
    server = env("OPENID_CONNECT_URL")
    if name == "openid_connect" and not server:
        missing.append("OPENID_CONNECT_URL")
    if missing:
        raise ValueError(f"SOCIAL_PROVIDERS names {name}, so set {' and '.join(missing)} too.")
    app: dict[str, Any] = {"client_id": known["client_id"], "secret": known["client_secret"]}
    if name == "openid_connect":
        app |= {"provider_id": "sso", "name": env("OPENID_CONNECT_NAME", "Single sign-on")}
        app["settings"] = {"server_url": server}
    return app


SOCIALACCOUNT_PROVIDERS = {name: {"APPS": [social_app(name)]} for name in SOCIAL}
SOCIALACCOUNT_ADAPTER = "rooms.sign_up.SocialAdapter"
# By a link, not by a form: our own form-action would stop the way to the provider. Its state is checked all the same.
SOCIALACCOUNT_LOGIN_ON_GET = True

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "rooms.views.errors.RuleErrors",
]

ROOT_URLCONF = "agentroom.urls"
ASGI_APPLICATION = "agentroom.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "rooms.rail.rail",
            ],
        },
    },
]

SQLITE_SYNCHRONOUS = "NORMAL" if env("SQLITE_SYNCHRONOUS").upper() == "NORMAL" else "FULL"


def database() -> dict[str, Any]:
    url = env_secret("DATABASE_URL")
    if url:
        parsed: dict[str, Any] = dict(dj_database_url.parse(url))
        if parsed["ENGINE"].endswith("postgresql"):
            parsed |= {"CONN_MAX_AGE": 0, "OPTIONS": {"pool": {"min_size": 1, "max_size": 12, "timeout": 10}}}
            return parsed
        raise ValueError("DATABASE_URL: PostgreSQL, or leave it out for SQLite in the data folder.")
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / "agentroom.sqlite3",
        "CONN_MAX_AGE": None,
        "TEST": {"NAME": DATA / "test.sqlite3"},
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": f"PRAGMA journal_mode=WAL;PRAGMA synchronous={SQLITE_SYNCHRONOUS};"
            "PRAGMA cache_size=-20000;PRAGMA temp_store=MEMORY;PRAGMA journal_size_limit=67108864",
        },
    }


DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env_secret("REDIS_URL")
SCALED = bool(REDIS_URL)
if SCALED:
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
    }
    CACHES: dict[str, Any] = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    # Limits count here: with few entries anybody could push the counts of others out.
    CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
    }

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True
# Else its own handler would write the log in place of ours.
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

AUTH_USER_MODEL = "rooms.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "rooms.sign_up.Adapter"
DOOR_ATTEMPTS = env_int("DOOR_ATTEMPTS_PER_MINUTE", 20)
ACCOUNT_RATE_LIMITS = {
    "join": f"{DOOR_ATTEMPTS}/m/ip",
    "link": f"{DOOR_ATTEMPTS}/m/ip",
    "pair": f"{DOOR_ATTEMPTS}/m/user",
    "token": f"{DOOR_ATTEMPTS * 3}/m/ip",
    "device_code": f"{DOOR_ATTEMPTS}/m/ip",
}
"""Beside allauth's own limits: joining by an invite, signing in by a link, confirming a machine, a program's secret, a
code for a program without a browser."""
MCP_CALLS_PER_MINUTE = env_int("MCP_CALLS_PER_MINUTE", 600)
"""Of one connection at ``/mcp``, in each web process; who calls more often hears when to come again."""
API_CALLS_PER_MINUTE = env_int("API_CALLS_PER_MINUTE", 600)
"""Of one connection at ``/api``, over all web processes."""
MACHINE_CALLS_PER_MINUTE = env_int("MACHINE_CALLS_PER_MINUTE", 6000)
"""Of one machine, beside its long poll: its reports follow each other as fast as they are answered."""
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_LOGIN_BY_CODE_ENABLED = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_USERNAME_VALIDATORS = "rooms.sign_up.username_validators"
MFA_SUPPORTED_TYPES = ["webauthn", "totp", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not _secure

MCP_RESOURCE = f"{PUBLIC_URL}/mcp"
"""What the tokens of programs that sign in are for."""
IDP_OIDC_ADAPTER = "agentroom.oauth.adapter.Adapter"
IDP_OIDC_PRIVATE_KEY = kept_secret("OIDC_PRIVATE_KEY", "oidc-key.pem", make=signing_key)
IDP_OIDC_ACCESS_TOKEN_EXPIRES_IN = 60 * 60 * 12
IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = 60 * 60 * 24 * 30
# Programs introduce themselves; who they may be is decided by a person, for each sign-in, on the consent page.
IDP_OIDC_DCR_ENABLED = True
IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = False
IDP_OIDC_CIMD_ENABLED = False
IDP_OIDC_RATE_LIMITS = {
    "client_registration": f"{DOOR_ATTEMPTS}/m/ip",
    "device_user_code": f"{DOOR_ATTEMPTS}/m/ip",
}

MAILERS: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.mail.backends.console.EmailBackend"}}
if env("EMAIL_HOST"):
    MAILERS["default"] = {
        "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "OPTIONS": {
            "host": env("EMAIL_HOST"),
            "port": env_int("EMAIL_PORT", 587),
            "username": env("EMAIL_HOST_USER"),
            "password": env_secret("EMAIL_HOST_PASSWORD"),
            "use_tls": env_bool("EMAIL_USE_TLS", True),
        },
    }
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", "Agentroom <agentroom@localhost>")

CHAT_RETENTION_DAYS = env_days("CHAT_RETENTION_DAYS", 14)
"""After so many days what programs wrote in an account's chat goes; an account can set less."""
ROOM_RETENTION_DAYS = env_days("ROOM_RETENTION_DAYS", None)
"""After so many days everything in every other room goes; None: what its owner set for it counts alone."""

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = DEBUG
MEDIA_ROOT = DATA / "files"
FILE_UPLOAD_PERMISSIONS = 0o600
DATA_UPLOAD_MAX_MEMORY_SIZE = 25_000_000

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "agentroom.logs.Formatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env("LOG_LEVEL", "WARNING")},
    # Without Django's own handlers, which would write the line as it is.
    "loggers": {"django": {"handlers": []}, "django.server": {"handlers": [], "propagate": True}},
}
