"""Scenarios of Anthropic's official client. usage: anthropic_client.py SCENARIO URL < INPUT; reports JSON."""

import json
import sys

import anthropic

TOOLS = [{"name": "bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]


def client(url, retries=0):
    return anthropic.Anthropic(base_url=url, api_key="key", max_retries=retries, timeout=20)


def call(api, messages):
    return dict(model="claude-sonnet-5-5", max_tokens=64, messages=messages, tools=TOOLS)


def whole(api, messages):
    return api.messages.create(**call(api, messages))


def streamed(api, messages):
    with api.messages.stream(**call(api, messages)) as stream:
        return stream.get_final_message()


def converse(url, ask):
    """Answers every tool call until the model ends; reports each message."""
    api, messages, said = client(url), [{"role": "user", "content": "fix it"}], []
    while True:
        message = ask(api, messages)
        said.append(message.to_dict())
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return said
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": "ok"} for block in calls]
        messages.append({"role": "assistant", "content": message.to_dict()["content"]})
        messages.append({"role": "user", "content": results})


def failing(url, ask):
    """The client's own type of the failure, and its words."""
    try:
        return ask(client(url), [{"role": "user", "content": "fix it"}]).to_dict()
    except anthropic.APIError as error:
        return {"type": type(error).__name__, "status": getattr(error, "status_code", None), "message": str(error)}
    except Exception as error:
        return {"type": type(error).__name__}


def retried(url, _):
    return whole(client(url, retries=2), [{"role": "user", "content": "fix it"}]).to_dict()


def texts(url, _):
    """The prose as the client streams it."""
    api = client(url)
    with api.messages.stream(**call(api, [{"role": "user", "content": "fix it"}])) as stream:
        return list(stream.text_stream)


def sending(url, body):
    """Sends a conversation as it is; reports the client's type of the failure."""
    return failing(url, lambda api, _: api.messages.create(model="claude-sonnet-5-5", max_tokens=64, **body))


SCENARIOS = {
    "converse whole": lambda url, _: converse(url, whole),
    "converse streamed": lambda url, _: converse(url, streamed),
    "failing": lambda url, ways: [failing(url, streamed if way == "streamed" else whole) for way in ways],
    "retried": retried,
    "texts": texts,
    "sending": lambda url, bodies: [sending(url, body) for body in bodies],
}

if __name__ == "__main__":
    print(json.dumps(SCENARIOS[sys.argv[1]](sys.argv[2], json.load(sys.stdin))))
