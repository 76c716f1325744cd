//! The fake through its own HTTP and WebSocket. The official clients are in `tests/models`.

use std::time::Duration;

use axum::{body::Body, http::Request};
use futures::{SinkExt as _, StreamExt as _};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use super::{Disconnect, FakeChannel, FakeSlack, Fault, Upload};

const CHANNEL: &str = "C0GENERAL";
const PERSON: &str = "U0ADA";

/// A response: status, `Retry-After` and body.
struct Response {
    status: u16,
    retry_after: Option<String>,
    body: Vec<u8>,
}

/// Sends a request to an address of the fake. Returns `None` if the connection ends.
async fn send(url: &str, token: Option<&str>, media_type: &str, body: String) -> Option<Response> {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let stream = TcpStream::connect(authority).await.unwrap();
    let (mut client, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(format!("/{path}"))
        .header("host", authority)
        .header("content-type", media_type);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::from(body)).unwrap();
    let response = client.send_request(request).await.ok()?;
    let retry_after = response.headers().get("retry-after");
    let retry_after = retry_after.map(|value| value.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(Body::new(response.into_body()), usize::MAX).await;
    Some(Response {
        status,
        retry_after,
        body: body.unwrap().to_vec(),
    })
}

/// Calls a method with a form, as the bot.
async fn call(fake: &FakeSlack, method: &str, arguments: &Value) -> Value {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments.as_object().unwrap() {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        form.append_pair(name, &text);
    }
    let url = format!("{}/{method}", fake.url());
    let media_type = "application/x-www-form-urlencoded";
    let token = fake.bot_token();
    let response = send(&url, Some(&token), media_type, form.finish()).await;
    serde_json::from_slice(&response.unwrap().body).unwrap()
}

type Socket = WebSocketStream<TcpStream>;

async fn connect(fake: &FakeSlack) -> Socket {
    let url = format!("{}/apps.connections.open", fake.url());
    let token = fake.app_token();
    let opened = send(&url, Some(&token), "application/json", String::new()).await;
    let opened: Value = serde_json::from_slice(&opened.unwrap().body).unwrap();
    let url = opened["url"].as_str().unwrap();
    let authority = url.strip_prefix("ws://").unwrap().split('/').next();
    let stream = TcpStream::connect(authority.unwrap()).await.unwrap();
    let (mut socket, _) = client_async(url, stream).await.unwrap();
    assert_eq!(frame(&mut socket).await["type"], "hello");
    socket
}

async fn frame(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

async fn acknowledge(socket: &mut Socket, envelope: &Value) {
    let ack = json!({ "envelope_id": envelope["envelope_id"] });
    socket.send(Message::text(ack.to_string())).await.unwrap();
}

#[tokio::test]
async fn calls_are_rejected_as_by_slack() {
    let fake = FakeSlack::start().await;
    fake.add_channel(FakeChannel {
        is_member: false,
        ..FakeChannel::public("C0OTHER", "other")
    });
    fake.add_channel(FakeChannel {
        is_member: false,
        ..FakeChannel::private("G0SECRET", "secret")
    });
    fake.add_channel(FakeChannel {
        is_archived: true,
        ..FakeChannel::public("C0OLD", "old")
    });
    fake.revoke_scope("groups:history");
    fake.add_channel(FakeChannel::private("G0OURS", "ours"));
    let ts = fake.say(CHANNEL, PERSON, "hi", None);
    let section =
        |text: String| json!([{ "type": "section", "text": { "type": "mrkdwn", "text": text } }]);
    let many = vec![json!({ "type": "divider" }); 51];
    let cases = [
        ("chat.unknown", json!({}), "unknown_method"),
        (
            "chat.postMessage",
            json!({ "text": "a" }),
            "invalid_arguments",
        ),
        ("chat.postMessage", json!({ "channel": CHANNEL }), "no_text"),
        (
            "chat.postMessage",
            json!({ "channel": "C0OTHER", "text": "a" }),
            "not_in_channel",
        ),
        (
            "chat.postMessage",
            json!({ "channel": "G0SECRET", "text": "a" }),
            "channel_not_found",
        ),
        (
            "chat.postMessage",
            json!({ "channel": "C0OLD", "text": "a" }),
            "is_archived",
        ),
        (
            "chat.postMessage",
            json!({ "channel": CHANNEL, "text": "a", "thread_ts": "1.0" }),
            "thread_not_found",
        ),
        (
            "chat.postMessage",
            json!({ "channel": CHANNEL, "text": "a".repeat(40_001) }),
            "msg_too_long",
        ),
        (
            "chat.postMessage",
            json!({ "channel": CHANNEL, "blocks": many }),
            "invalid_blocks",
        ),
        (
            "chat.postMessage",
            json!({ "channel": CHANNEL, "blocks": section("a".repeat(3_001)) }),
            "invalid_blocks",
        ),
        (
            "chat.postMessage",
            json!({ "channel": CHANNEL, "blocks": "x" }),
            "invalid_blocks_format",
        ),
        (
            "chat.update",
            json!({ "channel": CHANNEL, "ts": ts, "text": "a" }),
            "cant_update_message",
        ),
        (
            "chat.update",
            json!({ "channel": CHANNEL, "ts": "1.0", "text": "a" }),
            "message_not_found",
        ),
        (
            "reactions.remove",
            json!({ "channel": CHANNEL, "timestamp": ts, "name": "eyes" }),
            "no_reaction",
        ),
        (
            "conversations.history",
            json!({ "channel": "G0OURS" }),
            "missing_scope",
        ),
        (
            "conversations.history",
            json!({ "channel": CHANNEL, "cursor": "x" }),
            "invalid_cursor",
        ),
        (
            "conversations.replies",
            json!({ "channel": CHANNEL, "ts": "1.0" }),
            "thread_not_found",
        ),
        ("apps.connections.open", json!({}), "not_allowed_token_type"),
    ];
    for (method, arguments, code) in cases {
        let answer = call(&fake, method, &arguments).await;
        assert_eq!(answer["error"], code, "{method} {arguments}");
    }
    // A method that reads forms ignores a JSON body.
    let url = format!("{}/users.info", fake.url());
    let body = json!({ "user": PERSON }).to_string();
    let token = fake.bot_token();
    let ignored = send(&url, Some(&token), "application/json", body)
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&ignored.body).contains("user_not_found"));
    for (token, code) in [(None, "not_authed"), (Some("xoxb-other"), "invalid_auth")] {
        let answer = send(&url, token, "application/json", String::new()).await;
        assert!(String::from_utf8_lossy(&answer.unwrap().body).contains(code));
    }
}

#[tokio::test]
async fn mention_sends_two_events_with_one_timestamp() {
    let fake = FakeSlack::start().await;
    let mut first = connect(&fake).await;
    let mut second = connect(&fake).await;
    let text = format!("{} look", fake.mention());
    let ts = fake.say(CHANNEL, PERSON, &text, None);
    let frames = [frame(&mut first).await, frame(&mut second).await];
    let events: Vec<Value> = frames
        .iter()
        .map(|frame| {
            json!([
                frame["payload"]["event"]["type"],
                frame["payload"]["event"]["ts"]
            ])
        })
        .collect();
    assert_eq!(events, [json!(["message", ts]), json!(["app_mention", ts])]);
    acknowledge(&mut first, &frames[0]).await;
    acknowledge(&mut second, &frames[1]).await;
    fake.wait_for_acks().await;
    fake.redeliver(frames[0]["envelope_id"].as_str().unwrap());
    assert_eq!(frame(&mut first).await["retry_attempt"], 1);
    fake.mute();
    fake.say(CHANNEL, PERSON, &text, None);
    fake.unmute();
    fake.say("D0ADA", PERSON, "hi", None);
    let direct = frame(&mut second).await;
    assert_eq!(direct["payload"]["event"]["channel_type"], "im");
    fake.disconnect(Disconnect::RefreshRequested);
    assert_eq!(frame(&mut first).await["reason"], "refresh_requested");
    assert!(matches!(first.next().await, Some(Ok(Message::Close(_)))));
    drop((first, second));
    fake.wait_for_connections(0).await;
}

#[tokio::test]
async fn pressed_button_arrives_as_block_action() {
    let fake = FakeSlack::start().await;
    let mut socket = connect(&fake).await;
    let label = json!({ "type": "plain_text", "text": "Stop" });
    let button = json!({ "type": "button", "action_id": "stop", "text": label, "value": "run-1" });
    let blocks = json!([{ "type": "actions", "block_id": "ars-card:run-1", "elements": [button] }]);
    let arguments = json!({ "channel": CHANNEL, "text": "card", "blocks": blocks });
    let posted = call(&fake, "chat.postMessage", &arguments).await;
    let own = frame(&mut socket).await;
    assert_eq!(own["payload"]["event"]["bot_id"], "B0ARS");
    fake.press(CHANNEL, posted["ts"].as_str().unwrap(), "stop", PERSON);
    let pressed = frame(&mut socket).await;
    assert_eq!(pressed["type"], "interactive");
    assert_eq!(pressed["payload"]["actions"][0]["value"], "run-1");
}

#[tokio::test]
async fn pages_cover_channel_and_thread_once() {
    let fake = FakeSlack::start().await;
    let first = fake.say(CHANNEL, PERSON, "0", None);
    for index in 1..5 {
        fake.say(CHANNEL, PERSON, &index.to_string(), None);
        fake.say(CHANNEL, PERSON, &format!("r{index}"), Some(&first));
    }
    let cases = [
        ("conversations.history", json!({}), vec!["4 3", "2 1", "0"]),
        (
            "conversations.history",
            json!({ "oldest": first }),
            vec!["2 1", "4 3"],
        ),
        (
            "conversations.replies",
            json!({ "ts": first }),
            vec!["0 r1", "0 r2", "0 r3", "0 r4"],
        ),
    ];
    for (method, mut arguments, expected) in cases {
        arguments["channel"] = CHANNEL.into();
        arguments["limit"] = 2.into();
        let mut pages = Vec::new();
        loop {
            let page = call(&fake, method, &arguments).await;
            let texts = page["messages"].as_array().unwrap().iter();
            let texts: Vec<&str> = texts.map(|one| one["text"].as_str().unwrap()).collect();
            pages.push(texts.join(" "));
            if page["has_more"] == false {
                break;
            }
            arguments["cursor"] = page["response_metadata"]["next_cursor"].clone();
        }
        assert_eq!(pages, expected, "{method}");
    }
}

#[tokio::test]
async fn faults_happen_before_or_after_the_effect() {
    let fake = FakeSlack::start().await;
    let url = format!("{}/chat.postMessage", fake.url());
    let token = fake.bot_token();
    let body = json!({ "channel": CHANNEL, "text": "a" }).to_string();
    let post = || send(&url, Some(&token), "application/json", body.clone());
    for (fault, posted) in [(Fault::DropBefore, 0), (Fault::DropAfter, 1)] {
        fake.fail("chat.postMessage", fault);
        assert!(post().await.is_none());
        assert_eq!(fake.messages(CHANNEL).len(), posted);
    }
    fake.fail("*", Fault::RateLimited(7));
    let limited = post().await.unwrap();
    assert_eq!(
        (limited.status, limited.retry_after.as_deref()),
        (429, Some("7"))
    );
    fake.freeze_clock(Duration::from_secs(1_800_000_000));
    fake.enforce_limits();
    for _ in 0..10 {
        assert_eq!(post().await.unwrap().status, 200);
    }
    assert_eq!(post().await.unwrap().retry_after.as_deref(), Some("10"));
    fake.advance_clock(Duration::from_secs(10));
    assert_eq!(post().await.unwrap().status, 200);
}

#[tokio::test]
async fn files_need_their_token() {
    let fake = FakeSlack::start().await;
    let announced = call(
        &fake,
        "files.getUploadURLExternal",
        &json!({ "filename": "a.txt", "length": 3 }),
    )
    .await;
    let url = announced["upload_url"].as_str().unwrap();
    send(url, None, "text/plain", "abc".to_owned())
        .await
        .unwrap();
    let files = json!([{ "id": announced["file_id"] }]);
    let shared = call(
        &fake,
        "files.completeUploadExternal",
        &json!({ "files": files, "channel_id": CHANNEL }),
    )
    .await;
    let url = shared["files"][0]["url_private_download"].as_str().unwrap();
    let token = fake.bot_token();
    let with = send(url, Some(&token), "", String::new()).await.unwrap();
    let without = send(url, None, "", String::new()).await.unwrap();
    assert_eq!(with.body, b"abc");
    assert!(String::from_utf8_lossy(&without.body).contains("Sign in"));
    let upload = Upload::new("b.png", "image/png", [1, 2]);
    let ts = fake.share_file(CHANNEL, PERSON, "look", upload, None);
    let history = call(
        &fake,
        "conversations.history",
        &json!({ "channel": CHANNEL, "latest": ts, "inclusive": true }),
    )
    .await;
    assert_eq!(history["messages"][0]["files"][0]["mimetype"], "image/png");
    assert_eq!(history["messages"][1]["subtype"], "file_share");
}

#[tokio::test]
async fn stream_ends_with_its_text() {
    let fake = FakeSlack::start().await;
    let thread_ts = fake.say(CHANNEL, PERSON, "hi", None);
    let start = json!({
        "channel": CHANNEL, "thread_ts": thread_ts, "recipient_user_id": PERSON, "recipient_team_id": fake.team(),
        "task_display_mode": "plan",
    });
    let refused = call(&fake, "chat.startStream", &start).await;
    assert_eq!(refused["error"], "channel_type_not_supported");
    fake.allow_streams();
    let started = call(&fake, "chat.startStream", &start).await;
    let at = json!({ "channel": CHANNEL, "ts": started["ts"], "markdown_text": "**a**" });
    call(&fake, "chat.appendStream", &at).await;
    let stopped = call(&fake, "chat.stopStream", &at).await;
    assert_eq!(stopped["message"]["text"], "**a****a**");
    let ended = call(&fake, "chat.appendStream", &at).await;
    assert_eq!(ended["error"], "message_not_in_streaming_state");
}

/// Tasks are changed by id. An open task becomes an error when the stream ends.
#[tokio::test]
async fn stream_reads_back_as_a_plan() {
    let fake = FakeSlack::start().await;
    fake.allow_streams();
    let thread_ts = fake.say(CHANNEL, PERSON, "hi", None);
    let task = |id: &str, status: &str| json!({ "type": "task_update", "id": id, "title": id, "status": status });
    let started = call(
        &fake,
        "chat.startStream",
        &json!({
            "channel": CHANNEL, "thread_ts": thread_ts, "recipient_user_id": PERSON, "task_display_mode": "plan",
            "recipient_team_id": fake.team(), "chunks": [task("a", "pending"), task("b", "in_progress")],
        }),
    )
    .await;
    let ts = started["ts"].as_str().unwrap();
    let append = |chunks: Value| json!({ "channel": CHANNEL, "ts": ts, "chunks": chunks });
    for (method, arguments, code) in [
        (
            "chat.appendStream",
            append(json!([task(&"a".repeat(257), "pending")])),
            "invalid_chunks",
        ),
        (
            "chat.appendStream",
            append(json!([task("a", "done")])),
            "invalid_chunks",
        ),
        ("chat.appendStream", append(json!([])), "no_text"),
        (
            "chat.update",
            json!({ "channel": CHANNEL, "ts": ts, "text": "x" }),
            "streaming_state_conflict",
        ),
    ] {
        assert_eq!(call(&fake, method, &arguments).await["error"], code);
    }
    let mut both = append(json!([task("a", "complete")]));
    both["markdown_text"] = "x".into();
    let both = call(&fake, "chat.appendStream", &both).await;
    assert_eq!(
        both["error"],
        "cannot_provide_both_markdown_text_and_chunks"
    );
    fake.stop_session(CHANNEL, ts, PERSON);
    let stopped = call(
        &fake,
        "chat.appendStream",
        &append(json!([task("a", "complete")])),
    )
    .await;
    assert_eq!(stopped["error"], "stopped_by_user");
    let ended = call(
        &fake,
        "chat.stopStream",
        &append(json!([task("a", "complete")])),
    )
    .await;
    let tasks = &ended["message"]["blocks"][0]["tasks"];
    assert_eq!(
        (&tasks[0]["status"], &tasks[1]["status"]),
        (&json!("complete"), &json!("error"))
    );
    call(
        &fake,
        "chat.update",
        &json!({ "channel": CHANNEL, "ts": ts, "text": "x" }),
    )
    .await;
    assert!(
        fake.thread(CHANNEL, &thread_ts)[1]
            .shown_blocks()
            .is_empty()
    );
}

/// The page belongs to the holder of the link.
#[tokio::test]
async fn page_needs_its_key() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let fake = FakeSlack::rehearse(listener.unwrap());
    let link = fake.page();
    let (base, key) = link.split_once('#').unwrap();
    let body = json!({ "channel": CHANNEL, "text": "@ars a < b" }).to_string();
    for (query, status) in [
        ("", 403),
        ("?key=other", 403),
        (&format!("?key={key}"), 200),
    ] {
        let url = format!("{base}page/say{query}");
        let response = send(&url, None, "application/json", body.clone()).await;
        assert_eq!(response.unwrap().status, status, "{query}");
    }
    let said = &fake.messages(CHANNEL)[0];
    assert_eq!(said.text, format!("{} a &lt; b", fake.mention()));
    let page = send(base, None, "", String::new()).await.unwrap();
    assert!(String::from_utf8_lossy(&page.body).contains("Rehearsal workspace"));
    assert_ne!(fake.bot_token(), FakeSlack::start().await.bot_token());
}
