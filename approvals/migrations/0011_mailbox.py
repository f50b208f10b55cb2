"""Agents report how they stand, and ask their owners."""

from typing import ClassVar

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('approvals', '0010_undo'),
        ('messaging', '0004_mailbox'),
        ('rooms', '0002_machine_confined'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('working', 'Working'), ('blocked', 'Blocked'), ('usage_limited', 'Usage Limited'), ('available', 'Available')], max_length=15)),
                ('note', models.CharField(blank=True, max_length=2000)),
                ('ticket', models.CharField(blank=True, max_length=200)),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('turn', models.BigIntegerField(blank=True, null=True)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='approval',
            name='approval_subject_known',
        ),
        migrations.RemoveConstraint(
            model_name='turn',
            name='one_turn_per_message_and_agent',
        ),
        migrations.RemoveConstraint(
            model_name='turn',
            name='turn_cause_known',
        ),
        migrations.AlterField(
            model_name='approval',
            name='subject',
            field=models.CharField(choices=[('start', 'Start'), ('push', 'Push'), ('delete', 'Delete'), ('spend', 'Spend'), ('credentials', 'Credentials'), ('unreadable', 'Unreadable'), ('tool', 'Tool'), ('question', 'Question'), ('ask', 'Ask')], max_length=12),
        ),
        migrations.AlterField(
            model_name='turn',
            name='cause',
            field=models.CharField(choices=[('message', 'message'), ('mail', 'mail'), ('ask', 'ask')], default='message', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(('subject__in', ['start', 'push', 'delete', 'spend', 'credentials', 'unreadable', 'tool', 'question', 'ask'])), name='approval_subject_known'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(condition=models.Q(('cause', 'mail'), _negated=True), fields=('entry', 'agent'), name='one_turn_per_message_and_agent'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(('cause__in', ['message', 'mail', 'ask'])), name='turn_cause_known'),
        ),
        migrations.AddField(
            model_name='report',
            name='member',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='report', to='rooms.member'),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['working', 'blocked', 'usage_limited', 'available'])), name='report_status_known'),
        ),
    ]
