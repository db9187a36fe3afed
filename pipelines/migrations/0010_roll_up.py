from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0009_dumps_and_force")]

    operations = [
        migrations.AddField(
            model_name="ledgerbatch",
            name="rolled",
            field=models.PositiveSmallIntegerField(default=0, help_text="How often it was merged with its neighbours."),
        ),
        migrations.AddField(
            model_name="sample",
            name="step",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="ledgerbatch",
            index=models.Index(fields=["rolled", "done_at"], name="pipelines_l_rolled_8ec974_idx"),
        ),
        migrations.AddIndex(
            model_name="sample",
            index=models.Index(fields=["step", "at"], name="pipelines_s_step_f802e6_idx"),
        ),
    ]
