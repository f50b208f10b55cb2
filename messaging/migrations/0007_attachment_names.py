"""Which entries name the same bytes is found without reading every attachment."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("messaging", "0006_waits")]
    operations: ClassVar = [
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(fields=["source", "sha256"], name="attachment_names"),
        ),
    ]
