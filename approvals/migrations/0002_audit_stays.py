"""The database itself refuses to change or remove a line of the audit trail while its owner exists."""

from typing import ClassVar

from django.db import migrations

SQLITE = """
CREATE TRIGGER approvals_audit_stays BEFORE UPDATE ON approvals_auditrecord
BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END
"""

POSTGRESQL = """
CREATE FUNCTION approvals_audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the audit trail only grows'; END $$;
CREATE TRIGGER approvals_audit_stays BEFORE UPDATE ON approvals_auditrecord
FOR EACH ROW EXECUTE FUNCTION approvals_audit_stays();
"""


def add(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    schema_editor.execute(POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE, params=None)


def drop(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER approvals_audit_stays ON approvals_auditrecord")
        schema_editor.execute("DROP FUNCTION approvals_audit_stays")
    else:
        schema_editor.execute("DROP TRIGGER approvals_audit_stays")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("approvals", "0001_first")]
    operations: ClassVar = [migrations.RunPython(add, drop)]
