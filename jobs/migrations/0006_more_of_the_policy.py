from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_past_usage")]

    operations = [
        migrations.AddField(
            model_name="schedulingpolicy",
            name="preempts",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="schedulingpolicy",
            name="damps_size",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="schedulingpolicy",
            name="ageing_percent",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="schedulingpolicy",
            name="service_quantum_device_seconds",
            field=models.PositiveIntegerField(default=300),
        ),
    ]
