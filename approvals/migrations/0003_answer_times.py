"""How long an agent's questions wait is its owner's to say."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0002_audit_stays'), ('rooms', '0001_first')]
    operations: ClassVar = [
        migrations.CreateModel(
            name='AnswerTimes',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('four_minutes', models.PositiveIntegerField(default=15)),
                ('tool_minutes', models.PositiveIntegerField(default=60)),
                ('question_minutes', models.PositiveIntegerField(default=1440)),
                ('start_minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('agent', models.OneToOneField(on_delete=models.CASCADE, related_name='times', to='rooms.agent')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('four_minutes__gte', 1), ('question_minutes__gte', 1), ('tool_minutes__gte', 1), models.Q(('start_minutes', None), ('start_minutes__gte', 1), _connector='OR')), name='answer_times_are_times')],
            },
        ),
    ]
