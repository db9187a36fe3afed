"""Standbys that a definition asks for; one that is discarded leaves room for the next."""

from django.db import migrations, models
from django.db.models import Q

_NAME = "one_live_run_per_pipeline_and_role"


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0029_traces")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="warm",
            field=models.BooleanField(
                default=False, help_text="A standby that lifecycle.standby asks for, and not a migration."
            ),
        ),
        migrations.RemoveConstraint(model_name="run", name=_NAME),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=["pipeline", "role"], condition=~Q(state="ENDED") & Q(discarded_at=None), name=_NAME
            ),
        ),
    ]
