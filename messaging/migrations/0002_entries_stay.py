"""The database itself refuses to change an entry, but for blanking its words."""

from typing import ClassVar

from django.db import migrations

SQLITE = """
CREATE TRIGGER messaging_entry_stays BEFORE UPDATE ON messaging_entry
WHEN NOT (
  NEW.subject = '' AND NEW.body = '' AND NEW.data = '{"blanked": true}'
  AND NEW.id IS OLD.id AND NEW.room_id IS OLD.room_id AND NEW.seq IS OLD.seq AND NEW.kind IS OLD.kind
  AND NEW.author_id IS OLD.author_id AND NEW.principal IS OLD.principal AND NEW.source_turn IS OLD.source_turn
  AND NEW.hop IS OLD.hop AND NEW.topic IS OLD.topic AND NEW.parent_seq IS OLD.parent_seq
  AND NEW.body_hash IS OLD.body_hash AND NEW.ticket IS OLD.ticket AND NEW.session IS OLD.session
  AND NEW.connection IS OLD.connection AND NEW.client_id IS OLD.client_id AND NEW.digest IS OLD.digest
  AND NEW.created_at IS OLD.created_at
)
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
"""

POSTGRESQL = """
CREATE FUNCTION messaging_entry_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.subject = '' AND NEW.body = '' AND NEW.data = '{"blanked": true}'::jsonb
     AND (to_jsonb(NEW) - 'subject' - 'body' - 'data') = (to_jsonb(OLD) - 'subject' - 'body' - 'data') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'entries are never changed';
END $$;
CREATE TRIGGER messaging_entry_stays BEFORE UPDATE ON messaging_entry
FOR EACH ROW EXECUTE FUNCTION messaging_entry_stays();
"""


def add(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    schema_editor.execute(POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE, params=None)


def drop(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER messaging_entry_stays ON messaging_entry")
        schema_editor.execute("DROP FUNCTION messaging_entry_stays")
    else:
        schema_editor.execute("DROP TRIGGER messaging_entry_stays")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("messaging", "0001_first")]
    operations: ClassVar = [migrations.RunPython(add, drop)]
