//! `auth.test`, `api.test` and `apps.connections.open`.

use serde_json::json;

use super::answer::Outcome;
use crate::slack::{arguments::Arguments, state::Workspace};

pub(super) fn test(workspace: &mut Workspace, _: &Arguments) -> Outcome {
    Ok(json!({
        "url": format!("https://{}.slack.test/", workspace.domain), "team": "Acme", "team_id": workspace.team_id,
        "user": workspace.users[&workspace.bot_user].name, "user_id": workspace.bot_user, "bot_id": workspace.bot_id,
        "is_enterprise_install": false,
    }))
}

pub(super) fn echo(_: &mut Workspace, arguments: &Arguments) -> Outcome {
    Ok(json!({ "args": arguments.recorded() }))
}

pub(super) fn open(workspace: &mut Workspace, _: &Arguments) -> Outcome {
    let ticket = workspace.id("ticket-");
    workspace.sockets.tickets.insert(ticket.clone());
    let Workspace {
        authority, app_id, ..
    } = workspace;
    let url = format!("ws://{authority}/link/?ticket={ticket}&app_id={app_id}");
    Ok(json!({ "url": url }))
}
