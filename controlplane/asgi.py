"""The web process: `uvicorn controlplane.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from controlplane.shared.collector import spare_what_stays

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

application = get_asgi_application()
spare_what_stays()
