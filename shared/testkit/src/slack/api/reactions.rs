//! `reactions.add` and `reactions.remove`.

use serde_json::json;

use super::answer::{Answer, Outcome};
use crate::slack::{
    arguments::Arguments,
    state::{FakeMessage, FakeReaction, Workspace},
};

pub(super) fn add(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    change(workspace, arguments, FakeMessage::react, "already_reacted")
}

pub(super) fn remove(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    change(workspace, arguments, FakeMessage::unreact, "no_reaction")
}

fn change(
    workspace: &mut Workspace,
    arguments: &Arguments,
    change: fn(&mut FakeMessage, &str, &str) -> bool,
    unchanged: &str,
) -> Outcome {
    let channel = arguments.required("channel")?;
    let ts = arguments.required("timestamp")?;
    let name = arguments.required("name")?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-+':".contains(&byte));
    if !is_name || name.starts_with(':') {
        return Err(Answer::error("invalid_name"));
    }
    workspace.writable(&channel)?;
    let bot = workspace.bot_user.clone();
    let message = workspace.message_mut(&channel, &ts);
    let message = message.ok_or_else(|| Answer::error("message_not_found"))?;
    if change(message, &bot, &name) {
        Ok(json!({}))
    } else {
        Err(Answer::error(unchanged))
    }
}

impl FakeMessage {
    /// Adds a user's reaction. Returns whether it is new.
    pub(in super::super) fn react(&mut self, user: &str, name: &str) -> bool {
        let found = self.reactions.iter_mut().find(|one| one.name == name);
        match found {
            Some(one) if one.users.iter().any(|id| id == user) => return false,
            Some(one) => one.users.push(user.to_owned()),
            None => self.reactions.push(FakeReaction {
                name: name.to_owned(),
                users: vec![user.to_owned()],
            }),
        }
        true
    }

    /// Removes a user's reaction. Returns whether it was there.
    fn unreact(&mut self, user: &str, name: &str) -> bool {
        let found = self.reactions.iter_mut().find(|one| one.name == name);
        let Some(one) = found else { return false };
        let before = one.users.len();
        one.users.retain(|id| id != user);
        let is_removed = one.users.len() < before;
        self.reactions.retain(|one| !one.users.is_empty());
        is_removed
    }
}
