"""Scenarios of OpenAI's official client. usage: openai_client.py SCENARIO URL < INPUT; reports JSON."""

import json
import sys

import openai

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]


def client(url, retries=0):
    return openai.OpenAI(base_url=url + "/v1", api_key="key", max_retries=retries, timeout=20)


def whole(api, messages):
    return api.chat.completions.create(model="gpt-5.4", messages=messages, tools=TOOLS)


def streamed(api, messages):
    options = {"include_usage": True}
    call = api.chat.completions.stream(model="gpt-5.4", messages=messages, tools=TOOLS, stream_options=options)
    with call as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def converse(url, ask):
    """Answers every tool call until the model ends; reports each completion."""
    api, messages, said = client(url), [{"role": "user", "content": "fix it"}], []
    while True:
        completion = ask(api, messages)
        said.append(completion.to_dict())
        message = completion.choices[0].message
        if not message.tool_calls:
            return said
        fields = ("role", "content", "tool_calls")
        answer = {name: value for name, value in message.to_dict().items() if name in fields}
        for call in answer["tool_calls"]:
            call["function"].pop("parsed_arguments", None)
        messages.append(answer)
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})


def failing(url, ask):
    """The client's own type of the failure, and its words."""
    try:
        return ask(client(url), [{"role": "user", "content": "fix it"}]).to_dict()
    except openai.APIError as error:
        return {"type": type(error).__name__, "status": getattr(error, "status_code", None), "message": str(error)}
    except Exception as error:
        return {"type": type(error).__name__}


def retried(url, _):
    return whole(client(url, retries=2), [{"role": "user", "content": "fix it"}]).to_dict()


def sending(url, body):
    """Sends a conversation as it is; reports the client's type of the failure."""
    return failing(url, lambda api, _: api.chat.completions.create(model="gpt-5.4", **body))


SCENARIOS = {
    "converse whole": lambda url, _: converse(url, whole),
    "converse streamed": lambda url, _: converse(url, streamed),
    "failing": lambda url, ways: [failing(url, streamed if way == "streamed" else whole) for way in ways],
    "retried": retried,
    "sending": lambda url, bodies: [sending(url, body) for body in bodies],
}

if __name__ == "__main__":
    print(json.dumps(SCENARIOS[sys.argv[1]](sys.argv[2], json.load(sys.stdin))))
