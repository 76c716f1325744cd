//! `users.info`, `users.lookupByEmail` and `assistant.threads.setStatus`.

use serde_json::{Value, json};

use super::answer::{Answer, Outcome};
use crate::slack::{
    arguments::Arguments,
    render,
    state::{FakeStatus, FakeUser, Workspace},
};

/// Maximum texts that a status rotates through.
const LOADING_MAX: usize = 10;

pub(super) fn info(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    // A missing argument is answered as an unknown user.
    let id = arguments.text("user").unwrap_or_default();
    let user = workspace.users.get(id.as_ref());
    let user = user.ok_or_else(|| Answer::error("user_not_found"))?;
    Ok(json!({ "user": known(workspace, user) }))
}

pub(super) fn by_email(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let email = arguments.text("email");
    let mut users = workspace.users.values();
    let found = users.find(|user| email.is_some() && user.email.as_deref() == email.as_deref());
    let user = found.ok_or_else(|| Answer::error("users_not_found"))?;
    Ok(json!({ "user": known(workspace, user) }))
}

/// Returns a user with what the token may know.
fn known(workspace: &Workspace, user: &FakeUser) -> Value {
    let mut rendered = render::user(user);
    if !workspace.has_scope("users:read.email")
        && let Some(profile) = rendered["profile"].as_object_mut()
    {
        profile.shift_remove("email");
    }
    rendered
}

pub(super) fn set_status(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel_id")?;
    let thread_ts = arguments.required("thread_ts")?;
    if !arguments.has("status") {
        return Err(Answer::missing("status"));
    }
    workspace.writable(&channel)?;
    if workspace.message(&channel, &thread_ts).is_none() {
        return Err(Answer::error("invalid_thread_ts"));
    }
    let loading = arguments.json("loading_messages", "invalid_arguments")?;
    let loading: Vec<String> = serde_json::from_value(match loading {
        Value::Null => json!([]),
        other => other,
    })
    .map_err(|_| Answer::error("invalid_arguments"))?;
    if loading.len() > LOADING_MAX {
        return Err(Answer::error("invalid_arguments"));
    }
    workspace.statuses.push(FakeStatus {
        channel,
        thread_ts,
        status: arguments.text("status").unwrap_or_default().into_owned(),
        loading_messages: loading,
    });
    Ok(json!({}))
}
