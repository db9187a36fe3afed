"""The web process: `uvicorn controlplane.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from pipelines.foundation.collector import spare_what_stays
from pipelines.foundation.privacy import close_umask

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
close_umask()

_django = get_asgi_application()
from controlplane import urls  # noqa: E402, F401 - and every view; Django would load them with the first request
from pipelines.api.http.limits import Limits  # noqa: E402 - applications have to be loaded

application = Limits(_django)

spare_what_stays()
