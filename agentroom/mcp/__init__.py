"""The agents' door: the Model Context Protocol over Streamable HTTP at ``/mcp``, beside Django in the ASGI router."""
