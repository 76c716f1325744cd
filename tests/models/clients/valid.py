"""Checks a request body against an official client's request types. usage: valid.py VENDOR < BODY.

Reports the body as the types know it: fields that they do not name are left out.
"""

import json
import sys
import typing

# The types say Iterable, which pydantic checks lazily and only in part; lists are checked at once.
typing.Iterable = typing.List

from pydantic import TypeAdapter  # noqa: E402


def request_type(vendor):
    if vendor == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsStreaming

        return MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return CompletionCreateParamsStreaming


if __name__ == "__main__":
    checked = TypeAdapter(request_type(sys.argv[1])).validate_python(json.load(sys.stdin))
    print(json.dumps(checked))
