"""A machine says which of its agents it confines."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('rooms', '0001_first')]
    operations: ClassVar = [
        migrations.AddField(
            model_name='machine',
            name='confined',
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
