"""The only way out of a box."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentroom_machine.confine.hosts import Allowed, Target, allowed
from agentroom_machine.confine.proxy import Proxy


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"echo " + await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def ask(proxy: Proxy, head: str, more: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(proxy.path))
    writer.write(head.encode() + b"\r\n\r\n" + more)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


async def test_an_allowed_target_is_reached_and_another_port_is_not() -> None:
    async with echo() as port:
        proxy = Proxy(Allowed((), frozenset({Target("127.0.0.1", port)})))
        await proxy.start()
        answer = await ask(proxy, f"CONNECT 127.0.0.1:{port} HTTP/1.1", b"hello\n")
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\necho hello\n"
        assert b"403" in await ask(proxy, f"CONNECT 127.0.0.1:{port + 1} HTTP/1.1")
        assert proxy.refused == {f"127.0.0.1:{port + 1}": 1}
        await proxy.close()


@pytest.mark.parametrize(
    "head",
    ["GET http://api.anthropic.com/ HTTP/1.1", "CONNECT api.anthropic.com HTTP/1.1", "CONNECT :443 HTTP/1.1",
     "CONNECT api.anthropic.com:0 HTTP/1.1", "CONNECT", "POST / HTTP/1.1"],
)  # fmt: skip
async def test_nothing_but_connect_is_understood(head: str) -> None:
    proxy = Proxy(Allowed(("api.anthropic.com",)))
    await proxy.start()
    assert (await ask(proxy, head)).startswith(b"HTTP/1.1 405")
    await proxy.close()


async def test_an_allowed_name_that_leads_to_this_machine_is_refused() -> None:
    proxy = Proxy(Allowed(("localhost",)))
    await proxy.start()
    assert (await ask(proxy, "CONNECT localhost:443 HTTP/1.1")).startswith(b"HTTP/1.1 403")
    await proxy.close()


@pytest.mark.parametrize(
    ("host", "port", "may"),
    [("api.anthropic.com", 443, True), ("API.Anthropic.com.", 443, True), ("api.anthropic.com", 22, False),
     ("evil-api.anthropic.com.example.org", 443, False), ("xapi.anthropic.com", 443, False),
     ("example.org", 443, False),
     ("docs.example.net", 443, True), ("example.net", 443, False)],
)  # fmt: skip
def test_names_stand_for_themselves_and_the_secure_port(host: str, port: int, may: bool) -> None:
    assert Allowed(("api.anthropic.com", "*.example.net")).permits(host, port) is may


def test_a_runtime_gets_its_models_hosts_what_its_environment_names_and_the_owners() -> None:
    environ = {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_BASE_URL": "https://other.example/"}
    ways = allowed("gemini", environ, ("pypi.example.org",))
    assert ways.permits("generativelanguage.googleapis.com", 443)
    assert ways.permits("127.0.0.1", 11434)
    assert ways.permits("pypi.example.org", 443)
    assert not ways.permits("other.example", 443)
    assert not allowed("demo", environ)
    content = '{"provider": {"x": {"options": {"baseURL": "https://models.example:8443/v1"}}}}'
    assert allowed("opencode", {"OPENCODE_CONFIG_CONTENT": content}).permits("models.example", 8443)
