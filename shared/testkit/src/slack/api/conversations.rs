//! `conversations.history` and `conversations.replies`.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Outcome},
    pages,
    scopes::require,
};
use crate::slack::{
    arguments::Arguments,
    render,
    state::{FakeChannel, FakeMessage, Workspace},
};

/// Messages in a page of a channel without a limit.
const DEFAULT: usize = 100;
/// Messages in a page of a thread without a limit.
const THREAD_DEFAULT: usize = 1_000;
/// Kind of the cursor.
const CURSOR: &str = "next_ts";

/// The time range that a call asks for. Bounds are exclusive unless it says otherwise.
struct Range {
    oldest: Option<String>,
    latest: Option<String>,
    is_inclusive: bool,
}

impl Range {
    fn read(arguments: &Arguments) -> Result<Self, Answer> {
        let bound = |name: &str| match arguments.text(name) {
            None => Ok(None),
            Some(text) => match timestamp(&text) {
                Some(ts) => Ok(Some(ts)),
                None => Err(Answer::error(&format!("invalid_ts_{name}"))),
            },
        };
        Ok(Self {
            oldest: bound("oldest")?,
            latest: bound("latest")?,
            is_inclusive: arguments.flag("inclusive"),
        })
    }

    fn has(&self, ts: &str) -> bool {
        let is_late = |oldest: &String| ts > oldest.as_str() || self.is_inclusive && ts == oldest;
        let is_early = |latest: &String| ts < latest.as_str() || self.is_inclusive && ts == latest;
        self.oldest.as_ref().is_none_or(is_late) && self.latest.as_ref().is_none_or(is_early)
    }
}

/// Returns a time in seconds as a message timestamp, which compares as text.
fn timestamp(text: &str) -> Option<String> {
    let (seconds, micros) = text.split_once('.').unwrap_or((text, ""));
    let seconds: u64 = seconds.parse().ok()?;
    let is_number = micros.len() <= 6 && micros.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{seconds:010}.{micros:0<6}"))
}

pub(super) fn history(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = readable(workspace, arguments)?;
    let range = Range::read(arguments)?;
    let limit = pages::limit(arguments, DEFAULT)?;
    let from = pages::position(arguments, CURSOR)?;
    // With only a lower bound, pages begin at it; each page has its newest message first.
    let is_forward = range.oldest.is_some() && range.latest.is_none();
    let follows = |ts: &str| match &from {
        None => true,
        Some(from) if is_forward => ts >= from.as_str(),
        Some(from) => ts <= from.as_str(),
    };
    let found = channel
        .top_level()
        .filter(|message| range.has(&message.ts) && follows(&message.ts));
    let mut found: Vec<&FakeMessage> = found.collect();
    if !is_forward {
        found.reverse();
    }
    let next = found.get(limit).map(|message| message.ts.as_str());
    let mut page: Vec<&FakeMessage> = found.into_iter().take(limit).collect();
    if is_forward {
        page.reverse();
    }
    let messages = page
        .into_iter()
        .map(|one| render::message(workspace, &channel.id, one));
    Ok(answer(&messages.collect::<Vec<_>>(), next))
}

pub(super) fn replies(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = readable(workspace, arguments)?;
    let ts = arguments.required("ts")?;
    let range = Range::read(arguments)?;
    let limit = pages::limit(arguments, THREAD_DEFAULT)?;
    let from = pages::position(arguments, CURSOR)?.unwrap_or_default();
    let parent = channel.messages.iter().find(|message| message.ts == ts);
    let parent = parent.ok_or_else(|| Answer::error("thread_not_found"))?;
    let mut replies = channel
        .replies(&ts)
        .filter(|reply| range.has(&reply.ts) && reply.ts >= from);
    // Every page begins with the thread's first message.
    let mut page = vec![parent];
    page.extend(replies.by_ref().take((limit - 1).max(1)));
    let next = replies.next().map(|reply| reply.ts.as_str());
    let messages = page
        .into_iter()
        .map(|one| render::message(workspace, &channel.id, one));
    Ok(answer(&messages.collect::<Vec<_>>(), next))
}

fn answer(messages: &[Value], next: Option<&str>) -> Value {
    let mut answer = json!({ "messages": messages, "has_more": next.is_some() });
    if next.is_some() {
        answer["response_metadata"] = pages::metadata(CURSOR, next);
    }
    answer
}

/// Returns the channel if the bot may read messages in it.
fn readable<'a>(
    workspace: &'a Workspace,
    arguments: &Arguments,
) -> Result<&'a FakeChannel, Answer> {
    let id = arguments.required("channel")?;
    let channel = workspace.visible(&id)?;
    let scope = match channel.kind() {
        "channel" => "channels:history",
        "group" => "groups:history",
        "im" => "im:history",
        _ => "mpim:history",
    };
    require(workspace, scope)?;
    if !channel.is_member {
        return Err(Answer::error("not_in_channel"));
    }
    Ok(channel)
}
