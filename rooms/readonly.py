"""Administration that looks and never writes: what changes something calls the rule that everybody calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from approvals import audit
from rooms.errors import RuleError
from rooms.models import User
from rooms.rules import rule

M = TypeVar("M", bound=Model)


if TYPE_CHECKING:
    Admin = admin.ModelAdmin
else:

    class Admin(admin.ModelAdmin):
        """Django's, which is generic to the type checker alone."""

        def __class_getitem__(cls, model: type[Model]) -> type[admin.ModelAdmin]:
            return cls


class ReadOnly(Admin[M]):
    """Lists and details. Adding, changing and deleting would go past the rules."""

    list_per_page = 50
    show_full_result_count = False
    actions_selection_counter = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def each(
        self,
        request: HttpRequest,
        chosen: QuerySet[M],
        what: str,
        owner_of: Callable[[M], User],
        act: Callable[[M], Any],
    ) -> None:
        """Do ``act`` to every chosen row, and write into each owner's trail which administrator did."""
        done = 0
        for row in chosen:
            try:
                self._one(request, row, what, owner_of, act)
            except RuleError as error:
                messages.error(request, f"{row}: {error.detail}")
            else:
                done += 1
        if done:
            messages.success(request, f"{done} done.")

    @rule
    def _one(
        self, request: HttpRequest, row: M, what: str, owner_of: Callable[[M], User], act: Callable[[M], Any]
    ) -> None:
        name = str(row)
        owner = owner_of(row)
        act(row)
        audit.write(owner, f"administrator: {what}"[:40], who=request.user.get_username(), about=name)
        self.log_change(request, row, what)
