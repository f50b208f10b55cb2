"""What the rail beside every page shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def rail(request: HttpRequest) -> dict[str, Any]:
    return {}
