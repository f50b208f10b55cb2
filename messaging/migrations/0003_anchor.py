"""Where a room's chain begins after a clean-up."""

from typing import ClassVar

from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    dependencies: ClassVar = [('messaging', '0002_entries_stay'), ('rooms', '0001_first')]
    operations: ClassVar = [
        migrations.CreateModel(
            name='Anchor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveBigIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('at', models.DateTimeField(default=timezone.now)),
                ('room', models.OneToOneField(on_delete=models.CASCADE, related_name='anchor', to='rooms.room')),
            ],
        ),
    ]
