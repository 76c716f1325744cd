//! An edited or deleted message: it changes as long as no model has read it.

use ars_auth::Actor;
use ars_bot_core::{Amended, threads::Amendment};
use ars_bot_ports::texts;
use ars_slack::{
    Ts,
    event::{Bot, Message},
    markup::to_mrkdwn,
    text::request_text,
};

use super::{files::note_of, serve::say};
use crate::{inbox::message_key, workspace::Workspace};

/// Applies an edit by the message's author.
pub(super) async fn edit(workspace: &Workspace, message: &Message, at: Ts, bot: &Bot) {
    let Some(user) = &message.user else { return };
    if !workspace.changes.note(&message.channel, message.ts, at) {
        return;
    }
    let amendment = Amendment::Text {
        text: request_text(&message.text, &bot.user_id),
        note: note_of(message),
        author: Actor::slack(user).id,
    };
    if let Err(refusal) = amend(workspace, &message.channel, message.ts, &amendment).await {
        let text = to_mrkdwn(&refusal);
        say(workspace, message, message.thread(), &text).await;
    }
}

/// Withdraws a deleted message. The platform does not name who deleted it.
pub(super) async fn delete(workspace: &Workspace, channel: &str, ts: Ts) {
    // Nothing is refused.
    let _ = amend(workspace, channel, ts, &Amendment::Withdrawn).await;
}

/// Returns the reason if the change is refused.
async fn amend(
    workspace: &Workspace,
    channel: &str,
    ts: Ts,
    amendment: &Amendment,
) -> Result<(), String> {
    let Some(core) = workspace.core() else {
        return Ok(());
    };
    let amended = core.amend(&message_key(channel, ts), amendment).await;
    let amended = amended.map_err(|refusal| texts::refusal(&refusal))?;
    if amended != Amended::Nothing {
        tracing::info!(channel, %ts, ?amended, "a chat message changed before it was read");
    }
    Ok(())
}
