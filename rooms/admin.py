"""Administration of people, rooms, machines and tokens: counts and states, never a room's words."""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.idp.oidc.models import Client, Token
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from approvals import audit, control
from messaging import former, log, sign_in
from rooms import membership
from rooms.forms import DeleteAccountForm
from rooms.models import Agent, Connection, Invite, Machine, Member, Room, User
from rooms.readonly import ReadOnly

admin.site.site_header = admin.site.site_title = "Agentroom"
admin.site.index_title = "Administration"
# The sign-in page of the product has the rate limits, passkeys and second factors; the admin's own has none.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.unregister((Group, Client, Token))


@admin.register(User)
class UserAdmin(ReadOnly[User]):
    list_display = (
        "username",
        "email",
        "is_active",
        "is_staff",
        "seat_count",
        "agent_count",
        "last_login",
        "date_joined",
        "deletion",
    )
    list_filter = ("is_active", "is_staff")
    search_fields = ("username", "email")
    fields = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login", "date_joined", "gone_at")
    actions = ("make_link", "shut_out", "let_in")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                seat_count=Count("seats", filter=Q(seats__left_at=None), distinct=True),
                agent_count=Count("agents", filter=Q(agents__retired_at=None), distinct=True),
            )
        )

    @admin.display(description="rooms")
    def seat_count(self, user: User) -> int:
        return int(getattr(user, "seat_count", 0))

    @admin.display(description="agents")
    def agent_count(self, user: User) -> int:
        return int(getattr(user, "agent_count", 0))

    @admin.display(description="account")
    def deletion(self, user: User) -> str:
        if user.gone_at is not None:
            return f"deleted {user.gone_at:%Y-%m-%d}"
        return format_html('<a href="{}">Delete…</a>', reverse("admin:user_delete_account", args=[user.pk]))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.delete_account)
        return [path("<int:user_id>/account/", view, name="user_delete_account"), *super().get_urls()]

    def delete_account(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """By the same rule as people themselves: a choice for each room, the name typed, a recent sign-in."""
        by = request.user
        if not isinstance(by, User) or not self.has_view_permission(request):
            raise PermissionDenied
        user = get_object_or_404(User, pk=user_id, gone_at=None)
        if user.pk == by.pk:
            return redirect("account_delete")
        here, recently = request.path, sign_in.recently(request, by)
        again = "" if recently else sign_in.again(by, here)
        if request.method == "POST" and again:
            return redirect(again)
        leaving = control.leaving(user)
        form = DeleteAccountForm(request.POST if request.method == "POST" else None, leaving=leaving)
        if request.method == "POST" and form.is_valid():
            name = user.username
            form.settle(lambda: control.delete_account(user, by=by, recently=recently, **form.choices()))
            if not form.errors:
                self.log_change(request, user, "deleted the account")
                messages.success(request, f"The account of {name} is deleted.")
                return redirect("admin:rooms_user_changelist")
        context = {
            **self.admin_site.each_context(request), "person": user, "leaving": leaving, "form": form,
            "recently": recently, "sign_in": again,
        }  # fmt: skip
        return render(request, "rooms/admin_delete.html", context, status=422 if form.errors else 200)

    @admin.action(description="Make a sign-in link, shown once")
    def make_link(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        def link(user: User) -> None:
            url = request.build_absolute_uri(reverse("sign_in_link", args=[membership.sign_in_link(user)]))
            messages.info(request, format_html("{}: <code>{}</code>", user.username, url))

        self.each(request, chosen.filter(is_active=True), "made a sign-in link", lambda user: user, link)

    @admin.action(description="Shut out: no sign-in, no machine, no token")
    def shut_out(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        by = request.user
        if not isinstance(by, User):
            raise PermissionDenied
        self.each(
            request,
            chosen.exclude(pk=by.pk),
            "shut out",
            lambda user: user,
            lambda user: control.shut_out(user, by=by),
        )

    @admin.action(description="Let in again")
    def let_in(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        self.each(
            request, chosen, "let in again", lambda user: user, lambda user: membership.set_active(user, active=True)
        )


class ReasonForm(forms.Form):
    reason = forms.CharField(label="Why", max_length=500, help_text="The room's owner finds it in their audit trail.")


@admin.register(Room)
class RoomAdmin(ReadOnly[Room]):
    list_display = ("name", "kind", "owner", "people", "agents", "last_seq", "created_at", "archived_at", "words")
    list_filter = ("kind",)
    search_fields = ("name", "owner__username")
    fields = ("name", "about", "kind", "owner", "direct_agent", "last_seq", "created_at", "archived_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Room]:
        seated = Q(members__left_at=None)
        return (
            super()
            .get_queryset(request)
            .select_related("owner")
            .annotate(
                people=Count("members", filter=seated & Q(members__is_agent=False), distinct=True),
                agents=Count("members", filter=seated & Q(members__is_agent=True), distinct=True),
            )
        )

    @admin.display
    def people(self, room: Room) -> int:
        return int(getattr(room, "people", 0))

    @admin.display
    def agents(self, room: Room) -> int:
        return int(getattr(room, "agents", 0))

    @admin.display(description="words")
    def words(self, room: Room) -> str:
        if room.kind == Room.Kind.ACCOUNT:
            return "its owner’s alone"
        return format_html('<a href="{}">Read…</a>', reverse("admin:room_words", args=[room.pk]))

    def get_urls(self) -> list[URLPattern]:
        words = path("<int:room_id>/words/", self.admin_site.admin_view(self.read_words), name="room_words")
        return [words, *super().get_urls()]

    def read_words(self, request: HttpRequest, room_id: int) -> HttpResponse:
        """The explicit act: a reason first, a line in the owner's trail, then the words. Each page is one act."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rooms = Room.objects.select_related("owner").exclude(kind=Room.Kind.ACCOUNT)
        room = get_object_or_404(rooms, pk=room_id)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        context: dict[str, Any] = {**self.admin_site.each_context(request), "room": room, "form": form}
        if request.method == "POST" and form.is_valid():
            cursor = int(request.POST.get("after", "0")) if request.POST.get("after", "0").isdigit() else 0
            who, reason = request.user.get_username(), form.cleaned_data["reason"]
            audit.write(room.owner, "administrator: read words", who=who, room=room.name, about=reason)
            context["page"] = page = log.after(room.pk, cursor, limit=200)
            former.named(room.pk, page.entries)
        return render(request, "rooms/admin_words.html", context)


@admin.register(Member)
class MemberAdmin(ReadOnly[Member]):
    list_display = ("handle", "room", "user", "agent", "role", "joined_at", "expires_at", "left_at", "removed_at")
    list_filter = ("role", "is_agent")
    list_select_related = ("room", "user", "agent")
    search_fields = ("handle", "room__name", "user__username")


@admin.register(Invite)
class InviteAdmin(ReadOnly[Invite]):
    list_display = ("id", "room", "role", "uses", "max_uses", "created_by", "created_at", "expires_at", "revoked_at")
    list_select_related = ("room", "created_by")
    exclude = ("token_hash",)
    actions = ("take_back",)

    @admin.action(description="Take back")
    def take_back(self, request: HttpRequest, chosen: QuerySet[Invite]) -> None:
        self.each(
            request,
            chosen.select_related("room__owner"),
            "took back an invite",
            lambda invite: invite.room.owner,
            lambda invite: membership.revoke_invite(invite.room.owner, invite.pk),
        )


@admin.register(Machine)
class MachineAdmin(ReadOnly[Machine]):
    list_display = ("name", "owner", "is_connected", "agent_count", "last_seen_at", "created_at", "revoked_at")
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
    fields = ("name", "owner", "max_running", "created_at", "last_seen_at", "draining", "revoked_at")
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Machine]:
        return super().get_queryset(request).annotate(agent_count=Count("agents", filter=Q(agents__retired_at=None)))

    @admin.display(boolean=True, description="connected")
    def is_connected(self, machine: Machine) -> bool:
        return machine.connected

    @admin.display(description="agents")
    def agent_count(self, machine: Machine) -> int:
        return int(getattr(machine, "agent_count", 0))

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[Machine]) -> None:
        self.each(
            request,
            chosen.filter(revoked_at=None).select_related("owner"),
            "revoked a machine",
            lambda machine: machine.owner,
            lambda machine: control.revoke_machine(machine.owner, machine.pk),
        )


@admin.register(Agent)
class AgentAdmin(ReadOnly[Agent]):
    list_display = ("handle", "owner", "machine", "seat_count", "paused_at", "created_at", "retired_at")
    list_select_related = ("owner", "machine")
    search_fields = ("handle", "owner__username")
    fields = (
        "handle", "display_name", "role", "owner", "machine", "share_diffs", "worktree_per_room", "paused_at",
        "created_at", "retired_at",
    )  # fmt: skip
    actions = ("retire",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return super().get_queryset(request).annotate(seat_count=Count("seats", filter=Q(seats__left_at=None)))

    @admin.display(description="rooms")
    def seat_count(self, agent: Agent) -> int:
        return int(getattr(agent, "seat_count", 0))

    @admin.action(description="Retire")
    def retire(self, request: HttpRequest, chosen: QuerySet[Agent]) -> None:
        self.each(
            request,
            chosen.filter(retired_at=None).select_related("owner"),
            "retired an agent",
            lambda agent: agent.owner,
            lambda agent: control.retire_agent(agent.owner, agent.pk),
        )


@admin.register(Connection)
class ConnectionAdmin(ReadOnly[Connection]):
    list_display = ("name", "kind", "user", "agent", "room", "machine", "hash_prefix", "last_used_at", "revoked_at")
    list_filter = ("kind",)
    list_select_related = ("user", "agent", "room", "machine")
    search_fields = ("name", "user__username")
    exclude = ("token_hash", "grant_id")
    actions = ("revoke",)

    @admin.display(description="hash begins")
    def hash_prefix(self, connection: Connection) -> str:
        return connection.short

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[Connection]) -> None:
        self.each(
            request,
            chosen.filter(revoked_at=None).select_related("user"),
            "revoked a connection",
            lambda connection: connection.user,
            lambda connection: membership.revoke_connection(connection.user, connection.pk),
        )
