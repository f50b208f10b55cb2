"""A room keeps its entries for a day at least, or for ever: no days at all were taken for no limit."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("rooms", "0004_gone"),
    ]

    operations: ClassVar = [
        migrations.AddConstraint(
            model_name="room",
            constraint=models.CheckConstraint(
                condition=models.Q(("retention_days", None), ("retention_days__gte", 1), _connector="OR"),
                name="room_keeps_a_day_at_least",
            ),
        ),
    ]
