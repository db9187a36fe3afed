"""Django's description of the application."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class PipelinesConfig(AppConfig):
    """What should run: definitions, desired states, and the record of what happened."""

    name = "pipelines"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Close the state to other users of the machine before anything is read from it. See to it that the default
        team and the database's own guards exist after every schema migration, in test databases too."""
        from pipelines.foundation.availability import limit_waits
        from pipelines.foundation.privacy import close_state
        from pipelines.models import guards
        from pipelines.services.access.teams import create_default_team

        close_state(settings.HEADGATE.state, settings.HEADGATE.private_files, agents=settings.HEADGATE.agents_gid)
        connection_created.connect(limit_waits)
        post_migrate.connect(create_default_team, sender=self)
        post_migrate.connect(guards.install, sender=self)
