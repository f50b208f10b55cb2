"""Whatever an inbox is asked for, an index begins with it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('messaging', '0004_mailbox'),
        ('rooms', '0003_sign_ins'),
    ]

    operations: ClassVar = [
        migrations.RemoveIndex(
            model_name='recipient',
            name='recipient_unread',
        ),
        migrations.RemoveIndex(
            model_name='recipient',
            name='recipient_in_turn',
        ),
        migrations.RemoveIndex(
            model_name='recipient',
            name='recipient_mail_in_turn',
        ),
        migrations.AddField(
            model_name='recipient',
            name='open_to',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'read_at', 'seq'], name='recipient_unread'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'open_to', 'read_at', 'seq'], name='recipient_unread_in_turn'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'open_to', 'seq'], name='recipient_mail_in_turn'),
        ),
        migrations.RemoveField(
            model_name='recipient',
            name='held',
        ),
    ]
