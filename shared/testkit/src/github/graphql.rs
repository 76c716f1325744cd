//! The used part of the second interface: threads of reviews.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    auth::Caller,
    state::{FakePull, FakeThread, HostState},
};

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
    let Some(pull) = pull else { return fault("NOT_FOUND", "Could not resolve to a PullRequest.") };
    let threads = json!({ "pageInfo": { "hasNextPage": false }, "nodes": nodes(pull) });
    Answer::ok(&json!({ "data": { "repository": { "pullRequest": { "reviewThreads": threads } } } }))
}

fn nodes(pull: &FakePull) -> Vec<Value> {
    let node = |thread: &FakeThread| {
        let is_bot = thread.user.ends_with("[bot]");
        let login = thread.user.trim_end_matches("[bot]");
        let author = json!({ "login": login, "__typename": if is_bot { "Bot" } else { "User" } });
        json!({
            "id": thread.id, "isResolved": thread.is_resolved, "isOutdated": false, "path": thread.path,
            "line": thread.line, "comments": { "nodes": [{ "body": thread.body, "author": author }] },
        })
    };
    pull.threads.iter().map(node).collect()
}

fn resolve(state: &mut HostState, caller: &Caller, id: &str) -> Answer {
    let visible = state.repositories.values_mut().filter(|one| caller.sees(&one.name));
    let pulls = visible.flat_map(|one| one.items.values_mut()).filter_map(|item| item.pull.as_mut());
    let Some(thread) = pulls.flat_map(|pull| &mut pull.threads).find(|thread| thread.id == id) else {
        return fault("NOT_FOUND", "Could not resolve to a node.");
    };
    if !caller.may("pull_requests", true) {
        return fault("FORBIDDEN", "Resource not accessible by integration");
    }
    thread.is_resolved = true;
    Answer::ok(&json!({ "data": { "resolveReviewThread": { "thread": { "isResolved": true } } } }))
}

fn fault(kind: &str, message: &str) -> Answer {
    Answer::ok(&json!({ "data": null, "errors": [{ "type": kind, "message": message }] }))
}
