"""Agents that only talk among themselves pause."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0007_mail'), ('rooms', '0001_first')]
    operations: ClassVar = [
        migrations.CreateModel(
            name='Exchange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since_seq', models.PositiveBigIntegerField(default=0)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('room', models.OneToOneField(on_delete=models.CASCADE, related_name='exchange', to='rooms.room')),
            ],
        ),
    ]
