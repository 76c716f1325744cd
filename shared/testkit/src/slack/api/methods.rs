//! The table of methods: token, scopes, encoding and rate limit of each.

use serde_json::json;

use super::{
    answer::{Answer, Outcome},
    chat, conversations, lists, members, reactions,
    scopes::missing_scope,
    session, streams, uploads,
};
use crate::slack::{
    arguments::Arguments,
    limits::Tier::{self, PerMinute, Post},
    state::Workspace,
};

/// One of these reads messages; which one depends on the channel.
const HISTORY: [&str; 4] = [
    "channels:history",
    "groups:history",
    "im:history",
    "mpim:history",
];
/// One of these reads channels; which one depends on the channel.
const READ: [&str; 4] = ["channels:read", "groups:read", "im:read", "mpim:read"];

type Run = fn(&mut Workspace, &Arguments) -> Outcome;

/// The body that a method reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Forms and queries; a JSON body is ignored.
    Form,
    /// Forms, queries and JSON.
    Any,
}

struct Method {
    name: &'static str,
    encoding: Encoding,
    /// Any one is enough; none are needed if it is empty.
    scopes: &'static [&'static str],
    tier: Tier,
    run: Run,
}

const fn method(
    name: &'static str,
    encoding: Encoding,
    scopes: &'static [&'static str],
    tier: Tier,
    run: Run,
) -> Method {
    Method {
        name,
        encoding,
        scopes,
        tier,
        run,
    }
}

/// The only method for the app's token.
const OPEN: &str = "apps.connections.open";

#[rustfmt::skip]
const METHODS: [Method; 24] = [
    method("auth.test", Encoding::Any, &[], PerMinute(300), session::test),
    method(OPEN, Encoding::Any, &["connections:write"], PerMinute(20), session::open),
    method("conversations.info", Encoding::Form, &READ, PerMinute(50), lists::info),
    method("conversations.list", Encoding::Form, &READ, PerMinute(20), lists::list),
    method("users.conversations", Encoding::Form, &READ, PerMinute(50), lists::joined),
    method("conversations.history", Encoding::Form, &HISTORY, PerMinute(50), conversations::history),
    method("conversations.replies", Encoding::Form, &HISTORY, PerMinute(50), conversations::replies),
    method("users.info", Encoding::Form, &["users:read"], PerMinute(100), members::info),
    method("users.lookupByEmail", Encoding::Form, &["users:read.email"], PerMinute(50), members::by_email),
    method("chat.postMessage", Encoding::Any, &["chat:write"], Post, chat::post),
    method("chat.postEphemeral", Encoding::Any, &["chat:write"], PerMinute(100), chat::post_ephemeral),
    method("chat.update", Encoding::Any, &["chat:write"], PerMinute(50), chat::update),
    method("chat.delete", Encoding::Any, &["chat:write"], PerMinute(50), chat::delete),
    method("chat.getPermalink", Encoding::Form, &[], PerMinute(300), chat::permalink),
    method("chat.startStream", Encoding::Any, &["chat:write"], PerMinute(20), streams::start),
    method("chat.appendStream", Encoding::Any, &["chat:write"], PerMinute(100), streams::append),
    method("chat.stopStream", Encoding::Any, &["chat:write"], PerMinute(20), streams::stop),
    method("reactions.add", Encoding::Any, &["reactions:write"], PerMinute(50), reactions::add),
    method("reactions.remove", Encoding::Any, &["reactions:write"], PerMinute(20), reactions::remove),
    method("assistant.threads.setStatus", Encoding::Any, &["chat:write", "assistant:write"], PerMinute(600), members::set_status),
    method("files.info", Encoding::Form, &["files:read"], PerMinute(100), uploads::info),
    method("files.getUploadURLExternal", Encoding::Form, &["files:write"], PerMinute(100), uploads::address),
    method("files.completeUploadExternal", Encoding::Any, &["files:write"], PerMinute(100), uploads::complete),
    method("api.test", Encoding::Any, &[], PerMinute(100), session::echo),
];

fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns whether a method reads a JSON body.
pub(in super::super) fn takes_json(name: &str) -> bool {
    find(name).is_none_or(|method| method.encoding == Encoding::Any)
}

/// Performs a call.
pub(in super::super) fn answer(
    workspace: &mut Workspace,
    name: &str,
    arguments: &Arguments,
) -> Answer {
    let performed = match find(name) {
        None => Err(Answer::error_with(
            "unknown_method",
            json!({ "req_method": name }),
        )),
        Some(method) => {
            admit(workspace, method, arguments).and_then(|()| (method.run)(workspace, arguments))
        }
    };
    performed.map_or_else(|error| error, Answer::ok)
}

/// Checks token, rate limit and scopes, in Slack's order.
fn admit(workspace: &mut Workspace, method: &Method, arguments: &Arguments) -> Result<(), Answer> {
    let Some(token) = arguments.token.as_deref() else {
        return Err(Answer::error("not_authed"));
    };
    let is_app = token == workspace.tokens.app;
    if !is_app && token != workspace.tokens.bot {
        return Err(Answer::error("invalid_auth"));
    }
    if workspace.tokens.is_revoked {
        return Err(Answer::error("token_revoked"));
    }
    if method.name != "api.test" && is_app != (method.name == OPEN) {
        return Err(Answer::error("not_allowed_token_type"));
    }
    let channel = arguments.text("channel").unwrap_or_default();
    let now = workspace.clock.now();
    let wait = workspace
        .limits
        .count(method.tier, method.name, &channel, now);
    if let Some(seconds) = wait {
        return Err(Answer::limited(seconds));
    }
    let granted = if is_app {
        &workspace.app_scopes
    } else {
        &workspace.scopes
    };
    let is_granted =
        method.scopes.is_empty() || method.scopes.iter().any(|one| granted.contains(*one));
    if !is_granted {
        let provided: Vec<&str> = granted.iter().map(String::as_str).collect();
        return Err(missing_scope(&method.scopes.join(","), &provided.join(",")));
    }
    arguments.check()
}
