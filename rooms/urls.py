from __future__ import annotations

from django.urls import path

from rooms.views import account, agents, connections, grants, home, join, keeping, links, machines, people, removal, rooms

urlpatterns = [
    path("", home.home, name="home"),
    path("rail/", home.rail, name="rail"),
    path("account/", account.account, name="account"),
    path("account/delete/", removal.account_delete, name="account_delete"),
    path("rooms/new/", rooms.room_new, name="room_new"),
    path("rooms/<int:room_id>/settings/", rooms.room_settings, name="room_settings"),
    path("rooms/<int:room_id>/invites/", rooms.room_invites, name="room_invites"),
    path("rooms/<int:room_id>/keep/", keeping.room_keep, name="room_keep"),
    path("rooms/<int:room_id>/archive/", rooms.room_archive, name="room_archive"),
    path("rooms/<int:room_id>/transfer/", removal.room_transfer, name="room_transfer"),
    path("rooms/<int:room_id>/delete/", removal.room_delete, name="room_delete"),
    path("rooms/<int:room_id>/leave/", rooms.room_leave, name="room_leave"),
    path("rooms/<int:room_id>/people/", people.room_people, name="room_people"),
    path("rooms/<int:room_id>/agents/", people.agent_seat, name="agent_seat"),
    path("rooms/<int:room_id>/let-in/", agents.direct_let_in, name="direct_let_in"),
    path("rooms/<int:room_id>/decline/", agents.direct_decline, name="direct_decline"),
    path("invites/<int:invite_id>/revoke/", rooms.invite_revoke, name="invite_revoke"),
    path("members/<int:member_id>/remove/", people.member_remove, name="member_remove"),
    path("members/<int:member_id>/role/", people.member_role, name="member_role"),
    path("members/<int:member_id>/memory/", people.memory_reset, name="memory_reset"),
    path("join/<str:token>/", join.join, name="join"),
    path("agents/<int:agent_id>/", agents.agent, name="agent"),
    path("agents/<int:agent_id>/avatar/", agents.agent_avatar, name="agent_avatar"),
    path("agents/<int:agent_id>/avatar/set/", agents.agent_avatar_set, name="agent_avatar_set"),
    path("agents/<int:agent_id>/direct/", agents.direct, name="direct"),
    path("agents/<int:agent_id>/pause/", agents.agent_pause, name="agent_pause"),
    path("agents/<int:agent_id>/retire/", agents.agent_retire, name="agent_retire"),
    path("pair/", machines.pair, name="pair"),
    path("machines/<int:machine_id>/revoke/", machines.machine_revoke, name="machine_revoke"),
    path("grants/", grants.grants, name="grants"),
    path("grants/<int:grant_id>/revoke/", grants.grant_revoke, name="grant_revoke"),
    path("deputy/", grants.deputy, name="deputy"),
    path("connections/", connections.connections, name="connections"),
    path("connections/<int:connection_id>/revoke/", connections.connection_revoke, name="connection_revoke"),
    path("in/<str:token>/", links.sign_in_link, name="sign_in_link"),
    path("first/<str:token>/", links.first, name="first"),
]
