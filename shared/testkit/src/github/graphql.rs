//! The used part of the second interface: review threads.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::Caller,
    state::{FakeComment, FakeThread, HostState},
};

/// Number of threads in a page.
const PAGE: usize = 100;
/// Number of latest comments in a thread.
const LATEST: usize = 10;

pub(super) fn answer(state: &mut HostState, caller: &Caller, body: &Value) -> Answer {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    if query.contains("resolveReviewThread") {
        return resolve(state, caller, variables["id"].as_str().unwrap_or_default());
    }
    if query.contains("reviewThreads") {
        return threads(state, caller, variables);
    }
    fault("undefinedField", "The query is not known to the fake.")
}

fn threads(state: &HostState, caller: &Caller, variables: &Value) -> Answer {
    let text = |name: &str| variables[name].as_str().unwrap_or_default();
    let name = format!("{}/{}", text("owner"), text("name"));
    let found = state.repositories.get(&name).filter(|_| caller.sees(&name));
    let pull = found.and_then(|one| one.items.get(&variables["number"].as_u64()?)?.pull.as_ref());
    let Some(pull) = pull else {
        return fault("NOT_FOUND", "Could not resolve to a PullRequest.");
    };
    let earlier = pull.threads.len().saturating_sub(PAGE);
    let nodes = nodes(&pull.threads[earlier..], variables["replies"] == true);
    let threads = json!({ "pageInfo": { "hasPreviousPage": earlier > 0 }, "nodes": nodes });
    Answer::ok(
        &json!({ "data": { "repository": { "pullRequest": { "reviewThreads": threads } } } }),
    )
}

fn nodes(threads: &[FakeThread], with_replies: bool) -> Vec<Value> {
    let node = |thread: &FakeThread| {
        let comments: Vec<Value> = thread.comments().iter().map(comment).collect();
        let line = if thread.is_outdated {
            Value::Null
        } else {
            thread.line.into()
        };
        let mut node = json!({
            "id": thread.id, "isResolved": thread.is_resolved, "isOutdated": thread.is_outdated,
            "path": thread.path, "line": line,
            "comments": { "totalCount": comments.len(), "nodes": comments[..1] },
        });
        if with_replies {
            node["latest"] = json!({ "nodes": comments[comments.len().saturating_sub(LATEST)..] });
        }
        node
    };
    threads.iter().map(node).collect()
}

fn comment(comment: &FakeComment) -> Value {
    let FakeComment { id, user, body, .. } = comment;
    let kind = if user.ends_with("[bot]") {
        "Bot"
    } else {
        "User"
    };
    // This interface names an app's account without the suffix.
    let author = json!({ "login": user.trim_end_matches("[bot]"), "__typename": kind });
    json!({ "id": format!("PRRC_{id}"), "body": body, "author": author })
}

fn resolve(state: &mut HostState, caller: &Caller, id: &str) -> Answer {
    let visible = state
        .repositories
        .values_mut()
        .filter(|one| caller.sees(&one.name));
    let pulls = visible
        .flat_map(|one| one.items.values_mut())
        .filter_map(|item| item.pull.as_mut());
    let Some(thread) = pulls
        .flat_map(|pull| &mut pull.threads)
        .find(|thread| thread.id == id)
    else {
        return fault("NOT_FOUND", "Could not resolve to a node.");
    };
    // The host gates this mutation by the contents as well.
    if !caller.may("pull_requests", true) || !caller.may("contents", true) {
        return fault("FORBIDDEN", "Resource not accessible by integration");
    }
    thread.is_resolved = true;
    Answer::ok(&json!({ "data": { "resolveReviewThread": { "thread": { "isResolved": true } } } }))
}

pub(super) fn fault(kind: &str, message: &str) -> Answer {
    Answer::ok(&json!({ "data": null, "errors": [{ "type": kind, "message": message }] }))
}

/// Returns a performed response that reports a limit beside the data.
pub(super) fn partial(answer: &Answer) -> Answer {
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body["errors"] = json!([{ "type": "RATE_LIMITED", "message": "API rate limit exceeded" }]);
    Answer::ok(&body)
}
