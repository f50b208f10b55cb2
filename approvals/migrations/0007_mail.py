"""Mail of one principal to one agent shares a turn."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0006_turn_outlived'), ('messaging', '0002_entries_stay')]
    operations: ClassVar = [
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('entry', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to='messaging.entry')),
                ('turn', models.ForeignKey(on_delete=models.CASCADE, related_name='mail', to='approvals.turn')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('turn', 'entry'), name='mail_once_in_a_turn')],
            },
        ),
    ]
