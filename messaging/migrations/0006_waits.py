"""What waits in an inbox has an index of its own."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('messaging', '0005_inbox_by_index'),
        ('rooms', '0003_sign_ins'),
    ]

    operations: ClassVar = [
        migrations.RemoveIndex(
            model_name='recipient',
            name='recipient_unread',
        ),
        migrations.RemoveIndex(
            model_name='recipient',
            name='recipient_unread_in_turn',
        ),
        migrations.AddField(
            model_name='recipient',
            name='waits',
            field=models.GeneratedField(db_persist=True, expression=models.Case(models.When(read_at=None, then=models.F('seq'))), null=True, output_field=models.PositiveBigIntegerField(null=True)),
        ),
        migrations.AddField(
            model_name='recipient',
            name='waits_open',
            field=models.GeneratedField(db_persist=True, expression=models.Case(models.When(open_to__isnull=False, read_at=None, then=models.F('seq'))), null=True, output_field=models.PositiveBigIntegerField(null=True)),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'waits'], name='recipient_unread'),
        ),
        migrations.AddIndex(
            model_name='recipient',
            index=models.Index(fields=['member', 'open_to', 'waits_open'], name='recipient_unread_in_turn'),
        ),
    ]
