from __future__ import annotations

from django import template
from django.template import Context

from rooms.providers import Provider, providers

register = template.Library()


@register.simple_tag(takes_context=True)
def social_providers(context: Context) -> list[Provider]:
    """The providers that people may sign in with here."""
    request = context.get("request")
    return providers(request) if request is not None else []
