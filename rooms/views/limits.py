"""How often one address may try a link, a code or a new account."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from allauth.core import ratelimit
from django.http import HttpRequest, HttpResponse

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def limited(action: str) -> Callable[[View[P]], View[P]]:
    """Answer 429 when ``action`` was posted more often than ``ACCOUNT_RATE_LIMITS`` allows."""

    def decorate(view: View[P]) -> View[P]:
        @functools.wraps(view)
        def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not ratelimit.consume(request, action=action):
                answer: HttpResponse = ratelimit.respond_429(request)
                return answer
            return view(request, *args, **kwargs)

        return wrapped

    return decorate
