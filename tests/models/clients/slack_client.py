"""Scenarios of slack_sdk. usage: slack_client.py SCENARIO URL < INPUT; reports JSON."""

import json
import queue
import sys

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import PlanUpdateChunk, TaskUpdateChunk
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse


def converse(url, given):
    """Posts, changes, reads and deletes messages, reacts, uploads a file and streams, as the bot."""
    api = WebClient(given["token"], base_url=f"{url}/")
    channel, thread = given["channel"], given["thread"]
    posted = api.chat_postMessage(channel=channel, thread_ts=thread, text="One", blocks=[
        {"type": "section", "text": {"type": "mrkdwn", "text": "*One*"}},
    ])
    changed = api.chat_update(channel=channel, ts=posted["ts"], text="Two")
    api.chat_postEphemeral(channel=channel, user=given["user"], text="Only you")
    api.reactions_add(channel=channel, timestamp=thread, name="eyes")
    api.assistant_threads_setStatus(channel_id=channel, thread_ts=thread, status="is thinking...")
    shared = api.files_upload_v2(
        channel=channel, thread_ts=thread, filename="log.txt", content="a\nb\n", title="Log", initial_comment="Output",
    )
    stream = api.chat_stream(
        channel=channel, thread_ts=thread, recipient_team_id=given["team"], recipient_user_id=given["user"], buffer_size=1,
    )
    stream.append(markdown_text="**a**")
    stopped = stream.stop()
    gone = api.chat_postMessage(channel=channel, text="Wrong")
    api.chat_delete(channel=channel, ts=gone["ts"])
    pages = api.conversations_replies(channel=channel, ts=thread, limit=2)
    channels = api.users_conversations(types="public_channel,im", limit=1)
    parent = api.conversations_history(channel=channel, limit=1)["messages"][0]
    person = api.users_info(user=given["user"])["user"]
    return {
        "me": [api.auth_test()["user_id"], api.auth_test()["bot_id"]],
        "changed": [changed["text"], changed["message"]["edited"]["ts"] > posted["ts"]],
        "link": api.chat_getPermalink(channel=channel, message_ts=posted["ts"])["permalink"],
        "file": [shared["file"]["title"], api.files_info(file=shared["file"]["id"])["file"]["size"]],
        "stream": stopped["message"]["text"],
        "pages": [[one["text"] for one in page["messages"]] for page in pages],
        "channels": [page["channels"][0]["id"] for page in channels],
        "channel": api.conversations_info(channel=channel)["channel"]["name"],
        "parent": [parent["reply_count"], parent["reactions"][0]["name"]],
        "person": [person["real_name"], api.users_lookupByEmail(email=given["email"])["user"]["id"]],
    }


def plan(url, given):
    """Streams a plan with two tasks, ends it with a block below, and edits it; the error if it cannot start."""
    api, place = WebClient(given["token"], base_url=f"{url}/"), {"channel": given["channel"]}

    def shown(message):
        block = message["blocks"][0]
        return [block["title"], block["tasks"]]

    try:
        place["ts"] = api.chat_startStream(
            **place, thread_ts=given["thread"], recipient_user_id=given["user"], recipient_team_id=given["team"],
            task_display_mode="plan", chunks=[
                PlanUpdateChunk(title="Work"), TaskUpdateChunk(id="read", title="read", status="pending"),
                TaskUpdateChunk(id="write", title="write", status="pending"),
            ],
        )["ts"]
    except SlackApiError as error:
        return error.response["error"]
    api.chat_appendStream(**place, chunks=[TaskUpdateChunk(id="read", title="read", status="in_progress")])
    is_open = api.conversations_replies(channel=given["channel"], ts=given["thread"])["messages"][1]
    block = {"type": "section", "block_id": "ars-card:r1", "text": {"type": "mrkdwn", "text": "*done*"}}
    chunks = [PlanUpdateChunk(title="Worked"), TaskUpdateChunk(id="read", title="read", status="complete")]
    ended = api.chat_stopStream(**place, chunks=chunks, blocks=[block])["message"]
    try:
        again = api.chat_stopStream(**place)["ok"]
    except SlackApiError as error:
        again = error.response["error"]
    edited = api.chat_update(**place, text="Done", blocks=[block])["message"]
    return {
        "open": shown(is_open), "ended": shown(ended), "below": ended["blocks"][-1]["block_id"], "again": again,
        "edited": [one["block_id"] for one in edited["blocks"]],
    }


def failing(url, given):
    """The error code of each failure, its status, and when to try again."""
    api, failed = WebClient(given["token"], base_url=f"{url}/"), []
    for method, arguments in given["calls"]:
        try:
            api.api_call(method, params=arguments)
            failed.append(None)
        except SlackApiError as error:
            response = error.response
            failed.append([response["error"], response.status_code, response.headers.get("Retry-After")])
    return failed


def listen(url, given):
    """The requests that arrive over Socket Mode until the given number, each acknowledged."""
    web = WebClient(given["token"], base_url=f"{url}/")
    client, arrived = SocketModeClient(given["appToken"], web_client=web), queue.Queue()

    def received(client, request):
        client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
        arrived.put([request.type, request.payload.get("event", {}).get("type") or request.payload["type"]])

    client.socket_mode_request_listeners.append(received)
    client.connect()
    requests = [arrived.get(timeout=60) for _ in range(given["count"])]
    client.close()
    return requests


if __name__ == "__main__":
    scenario, url = sys.argv[1:]
    run = {"converse": converse, "failing": failing, "listen": listen, "plan": plan}[scenario]
    print(json.dumps(run(url, json.load(sys.stdin))))
