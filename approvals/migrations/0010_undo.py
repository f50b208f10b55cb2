"""A turn's changes on its machine can be put back."""

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('approvals', '0009_audit_agent'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='Undo',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('changes', models.JSONField(default=dict)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='undo', to='approvals.turn')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('asked_at__isnull', False), ('done_at', None)), fields=['turn'], name='undo_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(('done_at', None), ('asked_at__isnull', False), _connector='OR'), name='undone_only_when_asked')],
            },
        ),
    ]
