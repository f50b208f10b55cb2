"""The whole product as its users get it: server and daemon as processes, people with a browser's manners.

    with Live.start(folder) as live:                       # or the fixture ``live``, one for each module
        alice = live.person("alice")                       # made by ./manage.py person, signed in by the link
        bob = live.person("bob")
        kitchen = alice.make_room("kitchen")               # a room's id
        bob.join(alice.invite(kitchen))                    # an invite's URL
        machine = live.machine()                           # a home of its own
        machine.pair(alice)                                # agentroom login, confirmed in alice's browser
        machine.add_agent("claude", runtime="demo", workdir=machine.repository())
        machine.up()                                       # agentroom up, in the background
        alice.seat_agent(kitchen, "claude")
        bob.ask(kitchen, "@claude list what is here")
        turn = live.turn(kitchen, 1)                       # waits for the first turn of the room
        alice.decide(turn.id, "Approve once")
        live.until_turn(turn.id, "done")
        live.entries(kitchen)                              # the room's log, straight from the database
        machine.kill(); machine.up(); live.kill(); live.serve()

The stack is the environment's: DATABASE_URL (each Live has a fresh database there), REDIS_URL (a number of its own),
AGENTROOM_SERVER. Everything lives below one folder; nothing outlives the ``with`` block.
"""

from tests.live.by_hand import HandMachine
from tests.live.forms import Form, Page
from tests.live.machine import Machine
from tests.live.person import Person
from tests.live.server import Live
from tests.live.stored import StoredEntry, StoredTurn
from tests.live.waiting import until
from tests.live.watching import Watch

__all__ = ["Form", "HandMachine", "Live", "Machine", "Page", "Person", "StoredEntry", "StoredTurn", "Watch", "until"]
