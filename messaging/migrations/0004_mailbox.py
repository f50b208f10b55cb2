"""An inbox can be read in the name of one person, and its sender can wait for an answer."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('messaging', '0003_anchor'),
        ('rooms', '0002_machine_confined'),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name='recipient',
            name='awaited_until',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='recipient',
            name='held',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='recipient',
            name='notice_turn',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='recipient',
            name='principal',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(condition=models.Q(('held', False), ('read_at', None)), fields=['member', 'principal', 'seq'], name='recipient_in_turn'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'seq'], name='recipient_mail'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(condition=models.Q(('held', False)), fields=['member', 'principal', 'seq'], name='recipient_mail_in_turn'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(condition=models.Q(('awaited_until__isnull', False)), fields=['awaited_until'], name='recipient_awaited'),
        ),
    ]
