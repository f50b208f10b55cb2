"""How much one person may have from one agent."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0003_answer_times'), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations: ClassVar = [
        migrations.CreateModel(
            name='Limit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('requests_a_day', models.PositiveIntegerField(blank=True, null=True)),
                ('minutes_a_day', models.PositiveIntegerField(blank=True, null=True)),
                ('tokens_a_month', models.PositiveBigIntegerField(blank=True, null=True)),
                ('cost_a_month', models.DecimalField(blank=True, decimal_places=2, max_digits=10, null=True)),
                ('updated_at', models.DateTimeField(default=timezone.now)),
                ('agent', models.ForeignKey(on_delete=models.CASCADE, related_name='limits', to='rooms.agent')),
                ('person', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('agent', 'person'), name='one_limit_per_agent_and_person')],
            },
        ),
    ]
