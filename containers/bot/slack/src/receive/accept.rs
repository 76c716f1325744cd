//! Decides about an event, and stores a request before the platform gets an acknowledgement.

use ars_slack::{
    Ts,
    catch_up::RECEIPT,
    event::{
        Bot, Event, Message, PARTICIPATION_MAX_REPLIES, SessionStop, Trigger, participates, trigger,
    },
};

use serde_json::Value;

use super::{
    change,
    press::stop_session,
    serve::{Address, Arrival, open_draft, serve},
};
use crate::{
    api::{Account, ApiError},
    inbox::PendingMessage,
    workspace::Workspace,
};

/// Accepts an event. Returns once it may be acknowledged; the request goes on.
///
/// `false` means that it must not be acknowledged: the platform delivers it again.
pub(crate) async fn accept(workspace: &Workspace, payload: &Value) -> bool {
    let Ok(account) = workspace.account().await else {
        return false;
    };
    if !is_for(payload, account) {
        tracing::warn!("a chat event of another workspace is ignored");
        return true;
    }
    if let Some(session) = SessionStop::parse(payload) {
        tokio::spawn(stop_session(workspace.clone(), session));
        return true;
    }
    let event = Event::parse(payload);
    let decision = trigger(&event, &account.bot);
    let message = match event {
        Event::Message { message, .. } => message,
        Event::Edited { message, at } => {
            change::edit(workspace, &message, at, &account.bot).await;
            return true;
        }
        Event::Deleted { channel, ts } => {
            change::delete(workspace, &channel, ts).await;
            return true;
        }
        Event::Other => return true,
    };
    let (thread, address) = match decision {
        Trigger::Ignore(_) => return true,
        Trigger::Handle { thread_ts } => (thread_ts, Address::Bot),
        Trigger::IfParticipating { thread_ts } => (thread_ts, Address::Thread),
    };
    if workspace.draining.is_cancelled() {
        // The next process receives it again, or finds it in the channel.
        return false;
    }
    if !workspace.seen.note(&message.channel, message.ts) {
        // Until the first delivery is stored, an acknowledgement could lose it.
        return workspace.seen.is_accepted(&message.channel, message.ts);
    }
    // Open from now on, because its author may change it at once.
    let draft = open_draft(workspace, &message);
    if address == Address::Thread {
        match takes_part(workspace, &message, thread, &account.bot).await {
            Ok(true) => {}
            Ok(false) => {
                workspace.seen.accept(&message.channel, message.ts);
                return true;
            }
            Err(error) => {
                tracing::warn!(%error, "a thread could not be read, so a message in it has to wait");
                workspace.seen.forget(&message.channel, message.ts);
                return false;
            }
        }
    }
    show_receipt(workspace, &message);
    let accepted_at = workspace
        .core()
        .map_or_else(|| message.ts.millis(), |core| core.clock().now());
    let pending = PendingMessage {
        accepted_at,
        channel: message.channel.clone(),
        ts: message.ts.to_string(),
        thread: thread.to_string(),
    };
    if let Err(error) = workspace.pending.add(pending).await {
        // Served all the same: a catch-up finds it in the channel if this process ends.
        tracing::warn!(%error, "an accepted chat message was not stored");
    }
    workspace.seen.accept(&message.channel, message.ts);
    let arrival = Arrival::Live { accepted_at };
    let workspace = workspace.clone();
    tokio::spawn(async move {
        serve(workspace, *message, (thread, address), arrival).await;
        drop(draft);
    });
    true
}

/// Returns whether an event is for the bot's workspace or organization, as far as it names any.
fn is_for(payload: &Value, account: &Account) -> bool {
    let is_own = |place: &Value| {
        let team = place["team_id"].as_str();
        let enterprise = place["enterprise_id"].as_str();
        team.is_none_or(|team| team == account.team)
            || enterprise.is_some() && enterprise == account.enterprise.as_deref()
    };
    let authorized = payload["authorizations"].as_array();
    // A shared channel's event has the workspace of its author, and those that it is meant for.
    match authorized.filter(|authorized| !authorized.is_empty()) {
        Some(authorized) => authorized.iter().any(is_own),
        None => is_own(payload),
    }
}

/// Reacts before anything slow. Nothing waits for it.
pub(crate) fn show_receipt(workspace: &Workspace, message: &Message) {
    let workspace = workspace.clone();
    let (channel, ts) = (message.channel.clone(), message.ts);
    tokio::spawn(async move {
        if let Err(error) = workspace.api.react(&channel, ts, RECEIPT).await {
            tracing::debug!(%error, "no reaction was added to a chat message");
        }
    });
}

/// Returns whether the bot wrote or was mentioned in the thread. A thread in which it does is not
/// read again: that cannot be undone.
async fn takes_part(
    workspace: &Workspace,
    message: &Message,
    thread: Ts,
    bot: &Bot,
) -> Result<bool, ApiError> {
    let place = (message.channel.clone(), thread);
    if workspace.joined.contains(&place) {
        return Ok(true);
    }
    let limit = u32::try_from(PARTICIPATION_MAX_REPLIES).unwrap_or(u32::MAX);
    let replies = workspace
        .api
        .replies(&message.channel, thread, limit)
        .await?;
    let takes_part = participates(&replies, bot);
    if takes_part {
        workspace.joined.add(place);
    }
    Ok(takes_part)
}
