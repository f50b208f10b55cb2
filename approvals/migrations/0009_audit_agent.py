"""A line of the trail names the agent that it is about."""

from importlib import import_module
from typing import ClassVar

from django.db import migrations, models

stays = import_module("approvals.migrations.0002_audit_stays")


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0008_exchange')]
    operations: ClassVar = [
        # SQLite makes the table anew, which would lose its trigger.
        migrations.RunPython(stays.drop, stays.add),
        migrations.AddField(
            model_name='auditrecord',
            name='agent',
            field=models.CharField(blank=True, max_length=32),
        ),
        migrations.RunPython(stays.add, stays.drop),
    ]
