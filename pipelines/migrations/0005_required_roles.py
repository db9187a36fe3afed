from django.db import migrations, models

ADMIN = 3
"""What the source `exec` needs; nothing else needed more than an operator when this was written."""


def fill(apps, schema_editor):
    revisions = apps.get_model("pipelines", "Revision").objects
    sources = revisions.values_list("pk", "definition__sources").iterator(chunk_size=200)
    exec_ones = [pk for pk, found in sources if any(each.get("type") == "exec" for each in (found or {}).values())]
    revisions.filter(pk__in=exec_ones).update(required_role=ADMIN)


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0004_wide_partitions"),
    ]

    operations = [
        migrations.AddField(
            model_name="revision",
            name="required_role",
            field=models.PositiveSmallIntegerField(
                default=2, help_text="The lowest role that may publish and start it."
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
