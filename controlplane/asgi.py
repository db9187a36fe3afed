"""The web process: `uvicorn controlplane.asgi:application`."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

application = get_asgi_application()

# What was imported lives for ever: looking through it again and again is what a long list waits for.
gc.collect()
gc.freeze()
