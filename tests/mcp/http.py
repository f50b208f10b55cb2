"""A client of ``/mcp`` without the SDK: each header and each byte in our hands."""

from __future__ import annotations

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
}


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META} | params}


def tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", name=name, arguments=arguments)


def headers(token: str, body: dict[str, Any], **more: str) -> dict[str, str]:
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    sent |= {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": body["method"],
    }
    if "name" in body["params"]:
        sent["Mcp-Name"] = body["params"]["name"]
    return sent | {name.replace("_", "-"): value for name, value in more.items()}


def post(url: str, token: str, body: dict[str, Any], *, raw: bytes | None = None, **more: str) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=30) as client:
        content = raw if raw is not None else json.dumps(body).encode()
        return client.post(f"{url}/mcp", content=content, headers=headers(token, body, **more))


def by_socket(url: str, token: str, body: dict[str, Any], *, hang_up: bool = False, **more: str) -> int:
    """The answer's status; with ``hang_up`` the connection is closed before there can be one, and it is 0."""
    place = urlsplit(url)
    raw = json.dumps(body).encode()
    lines = [f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(raw)}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers(token, body, **more).items()]
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=30) as connection:
        connection.sendall("".join([*lines, "\r\n"]).encode() + raw)
        return 0 if hang_up else int(connection.recv(100).split()[1])


class Listening:
    """An open ``subscriptions/listen``, read line by line."""

    def __init__(self, url: str, token: str, *uris: str, **kinds: bool) -> None:
        body = message("subscriptions/listen", notifications={"resourceSubscriptions": list(uris), **kinds})
        self._client = httpx.Client(trust_env=False, timeout=httpx.Timeout(30, read=20))
        request = self._client.build_request("POST", f"{url}/mcp", json=body, headers=headers(token, body))
        self.response = self._client.send(request, stream=True)
        self._lines = self.response.iter_lines()

    def next(self) -> dict[str, Any] | None:
        """The next message of the stream; None when it has ended."""
        for line in self._lines:
            if line.startswith("data:"):
                found: dict[str, Any] = json.loads(line.removeprefix("data:"))
                return found
        return None

    def close(self) -> None:
        self.response.close()
        self._client.close()

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
