"""A room keeps its entries for a day at least, or for ever: no days at all were taken for no limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.db import migrations, models


@contextmanager
def same_numbers(connection: Any) -> Iterator[None]:
    """SQLite writes the table anew for a constraint, and would give the numbers of rooms that are gone once more."""
    last = None
    with connection.cursor() as cursor:
        if connection.vendor == 'sqlite':
            last = cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'rooms_room'").fetchone()
        yield
        if last is not None:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = 'rooms_room'")
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('rooms_room', %s)", last)


class AddConstraint(migrations.AddConstraint):
    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        with same_numbers(schema_editor.connection):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        with same_numbers(schema_editor.connection):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('rooms', '0004_gone'),
    ]

    operations: ClassVar = [
        AddConstraint(
            model_name='room',
            constraint=models.CheckConstraint(condition=models.Q(('retention_days', None), ('retention_days__gte', 1), _connector='OR'), name='room_keeps_a_day_at_least'),
        ),
    ]
