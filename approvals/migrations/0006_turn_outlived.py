"""A running turn may outlive the permission that it started under."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0005_turn_usage')]
    operations: ClassVar = [
        migrations.AddField(
            model_name='turn',
            name='outlived_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
