"""A clean-up that takes a turn leaves what limits count of it."""

from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("approvals", "0012_mail_that_was_there"),
        ("rooms", "0003_sign_ins"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations: ClassVar = [
        migrations.CreateModel(
            name="Spent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queued_at", models.DateTimeField(blank=True, null=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField()),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                ("cost_usd", models.DecimalField(decimal_places=6, default=Decimal(0), max_digits=14)),
                ("agent", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="rooms.agent")),
                ("person", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={"indexes": [models.Index(fields=["agent", "person"], name="spent_by_whom")]},
        ),
    ]
