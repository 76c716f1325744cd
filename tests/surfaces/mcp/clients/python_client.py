"""Steps of the official client in one connection. usage: python_client.py MODE URL TOKEN < STEPS; reports JSON.

A step is {"do": "server" | "ping" | "list"} or {"do": "call", "name": NAME, "arguments": OBJECT}.
"""

import asyncio
import json
import sys

import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def perform(client, step):
    match step["do"]:
        case "server":
            return {
                "version": client.session.protocol_version,
                "server": plain(client.session.server_info),
                "capabilities": plain(client.session.server_capabilities),
            }
        case "ping":
            return plain(await client.session.send_ping())
        case "list":
            return plain(await client.list_tools())
        case "call":
            return plain(await client.call_tool(step["name"], step["arguments"]))


def reported(error):
    return {"code": error.error.code, "message": error.error.message, "data": error.error.data}


def leaves(error):
    """The single errors of nested groups: the transport groups what fails while it connects."""
    if isinstance(error, ExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


async def main(mode, url, token, steps):
    headers = {"authorization": f"Bearer {token}"}
    reports = []
    async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
        try:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                for step in steps:
                    try:
                        reports.append(await perform(client, step))
                    except MCPError as error:
                        reports.append(reported(error))
        except* MCPError as errors:
            reports += [reported(error) for error in leaves(errors)]
    return reports


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:4], json.load(sys.stdin)))))
