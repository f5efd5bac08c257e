from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_changes_are_marked")]

    operations = [
        migrations.AddField(
            model_name="schedulingpolicy",
            name="usage_half_life_hours",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
