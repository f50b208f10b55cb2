"""What a turn used, in numbers that add up."""

from decimal import Decimal
from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [('approvals', '0004_limits')]
    operations: ClassVar = [
        migrations.AddField(
            model_name='turn',
            name='tokens',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='turn',
            name='cost_usd',
            field=models.DecimalField(decimal_places=6, default=Decimal(0), max_digits=14),
        ),
    ]
