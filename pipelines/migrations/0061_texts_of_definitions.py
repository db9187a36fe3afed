"""The texts of revisions, which nobody could read before, are shown from here on. Removed are those that may not be: of a
definition that an upgrade has changed, so that they mean another one, and those with a comment that may hold a
credential."""

import re

from django.db import migrations

CREDENTIAL = re.compile(r"#.*(password|secret|token|credential|keystore\.key).*[:=]", re.IGNORECASE)


def clear(apps, schema_editor):
    """A text that is removed leaves the definition as it is, which is rendered in its place."""
    revisions = apps.get_model("pipelines", "Revision").objects
    revisions.exclude(former_digest="").update(source_text="")
    texts = revisions.exclude(source_text="").values_list("pk", "source_text")
    found = [pk for pk, text in texts.iterator() if CREDENTIAL.search(text)]
    revisions.filter(pk__in=found).update(source_text="")


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0060_supervision")]

    operations = [migrations.RunPython(clear, migrations.RunPython.noop)]
