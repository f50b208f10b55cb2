"""An account can be deleted: its row stays, empty, and rooms know which names mean nobody any more."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('rooms', '0003_sign_ins'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='FormerName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('handle', models.CharField(max_length=32)),
                ('through', models.PositiveBigIntegerField()),
                ('shown_as', models.CharField(max_length=32)),
                ('room', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_names', to='rooms.room')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('room', 'handle', 'through'), name='former_name_once')],
            },
        ),
        migrations.AddField(
            model_name='user',
            name='gone_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('gone_at', None), ('is_active', False), _connector='OR'), name='gone_means_inactive'),
        ),
    ]
