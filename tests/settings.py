"""Settings of the tests: a state directory of their own, no Redis unless a test starts one, cheap password hashes,
and no limit of requests, since users of many tests have one number."""

import atexit
import os
import shutil
import tempfile

STATE = tempfile.mkdtemp(prefix="headgate-tests-")
atexit.register(shutil.rmtree, STATE, ignore_errors=True)

os.environ["HEADGATE_STATE"] = STATE
os.environ["HEADGATE_HOST"] = "alpha"
os.environ["HEADGATE_ALLOWED_ROOTS"] = "/"
os.environ["HEADGATE_ALLOWED_NETWORKS"] = "127.0.0.0/8,::1/128"
os.environ["HEADGATE_RATE_LIMIT"] = "0"
os.environ["HEADGATE_REDIS_URL"] = "redis://127.0.0.1:1/0"
os.environ.pop("HEADGATE_DATABASE_URL", None)
if url := os.environ.get("HEADGATE_TEST_DATABASE_URL"):
    os.environ["HEADGATE_DATABASE_URL"] = url
    os.environ["HEADGATE_SECRET_KEY"] = "a-key-for-tests-alone"

from controlplane.settings import *
from controlplane.settings import DATABASES, HEADGATE

if HEADGATE.embedded:
    DATABASES["default"]["TEST"] = {"NAME": f"{STATE}/test.sqlite3"}
    DATABASES["default"]["OPTIONS"]["init_command"] += " PRAGMA synchronous=OFF;"  # a power cut may have these files
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
