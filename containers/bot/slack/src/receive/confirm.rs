//! A pressed button below a destructive command: the requester confirms or cancels it.
//!
//! A confirmed command is dispatched like a message of the requester, so every gate decides anew.
//! Not here: posting the buttons (`channel`), and their look (`ars_slack::confirm`).

use std::sync::Arc;

use ars_bot_ports::IncomingMessage;
use ars_slack::{
    confirm::{ConfirmValue, Decision, decided, is_expired},
    event::{Message, Press},
    permalink,
};

use super::{
    files::Files,
    serve::{Outsider, Request, dispatch, known, visibility},
};
use crate::{
    api::{Account, Recipient, Urgency},
    channel::{Progress, SlackChannel},
    workspace::Workspace,
};

/// Longest wait for removing the buttons.
const UPDATE_WAIT: std::time::Duration = std::time::Duration::from_secs(120);
/// Refuses a press during a shutdown.
const PRESS_AGAIN: &str = "I am restarting. Press the button again in a minute.";
/// Refuses a press whose decision could not be stored.
const NOT_STORED: &str =
    "Your decision could not be stored, so nothing was done. Press the button again in a moment.";
/// Refuses a second press.
const DECIDED_BEFORE: &str =
    "This command was confirmed or cancelled before. If no answer follows, send the command again.";

/// Refuses a press in a thread that no platform has.
const SEND_AGAIN: &str = "This command cannot be run here. Send it again.";

/// Serves a press. Only the person who pressed sees why it has no effect.
pub(super) async fn confirm(workspace: &Workspace, press: Press, decision: Decision) {
    let Ok(account) = workspace.account().await else {
        return;
    };
    let message = press.message.clone();
    let Some(message) = message.filter(|message| message.is_by(&account.bot)) else {
        tracing::warn!("a confirmation in a message of someone else is ignored");
        return;
    };
    let value = ConfirmValue::parse(&press.value);
    let Some(value) = value.filter(|value| value.thread == message.thread()) else {
        tracing::warn!("a confirmation with another value is ignored");
        return;
    };
    let asked = Asked {
        workspace,
        account,
        press: &press,
        message,
        value,
    };
    let Err(refusal) = asked.decide(decision).await else {
        return;
    };
    let told = workspace
        .api
        .post_ephemeral(&press.channel, press.thread_ts, &press.user, &refusal);
    if let Err(error) = told.await {
        tracing::debug!(%error, "a refused confirmation was not answered");
    }
}

/// A command that waits, with a press on one of its buttons.
struct Asked<'a> {
    workspace: &'a Workspace,
    account: &'a Account,
    press: &'a Press,
    /// The message with the buttons.
    message: Message,
    value: ConfirmValue,
}

impl Asked<'_> {
    /// Decides the confirmation, if the press may, or returns why it has no effect.
    async fn decide(self, decision: Decision) -> Result<(), String> {
        let Self {
            workspace, press, ..
        } = self;
        let Some(core) = workspace.core() else {
            return Err(PRESS_AGAIN.to_owned());
        };
        if press.user != self.value.user {
            return Err(format!(
                "Only <@{}> can confirm or cancel this command.",
                self.value.user
            ));
        }
        if is_expired(press.message_ts, core.clock().now()) {
            self.show(Decision::Expired).await;
            return Ok(());
        }
        let request = match decision {
            Decision::Confirmed => Some(self.command().await?),
            _ => None,
        };
        if workspace.draining.is_cancelled() {
            return Err(PRESS_AGAIN.to_owned());
        }
        let now = core.clock().now();
        let is_first = workspace
            .decisions
            .decide(&press.channel, press.message_ts, now)
            .await
            .map_err(|error| {
                tracing::warn!(%error, "a confirmation was not stored");
                NOT_STORED.to_owned()
            })?;
        if !is_first {
            return Err(DECIDED_BEFORE.to_owned());
        }
        let Some(request) = request else {
            self.show(decision).await;
            return Ok(());
        };
        let team = press.team.as_ref().unwrap_or(&self.account.team);
        let requester = Recipient {
            user: press.user.clone(),
            team: team.clone(),
        };
        let channel = Arc::new(SlackChannel::new(
            workspace.clone(),
            press.channel.clone(),
            self.value.thread,
            Some((press.message_ts, requester)),
        ));
        let (reached, ()) = tokio::join!(dispatch(core, request, channel), self.show(decision));
        if reached == Progress::ShuttingDown {
            self.show(Decision::NotStarted).await;
        }
        Ok(())
    }

    /// Returns the requester's command as a message, unless the requester is from outside by now.
    async fn command(&self) -> Result<IncomingMessage, String> {
        let Self {
            workspace,
            account,
            press,
            value,
            ..
        } = self;
        let (channel, user) = tokio::join!(
            known(|| workspace.directory.channel(&workspace.api, &press.channel)),
            known(|| workspace.directory.user(&workspace.api, &press.user)),
        );
        let outsider = Outsider {
            is_ext_shared: false,
            team: press.team.as_ref(),
            channel: channel.as_ref(),
            user: user.as_ref(),
        };
        if let Some(refusal) = outsider.refusal(workspace.settings.admits, account) {
            return Err(refusal.to_owned());
        }
        let now = workspace.core().map_or(0, |core| core.clock().now());
        let url = permalink(&account.url, &press.channel, value.ts, Some(value.thread));
        let request = Request {
            text: value.text.clone(),
            visibility: visibility(&press.channel, channel.as_ref()),
            user: value.user.clone(),
            received_at: now,
            files: Files::default(),
            url: Some(url),
            is_confirmed: true,
        };
        request
            .message((&press.channel, press.message_ts, value.thread))
            .ok_or_else(|| SEND_AGAIN.to_owned())
    }

    /// Replaces the buttons by how the confirmation ended. A failure is logged.
    async fn show(&self, decision: Decision) {
        let frame = decided(&self.message.blocks, &self.value, decision);
        let place = (self.press.channel.as_str(), self.press.message_ts);
        let urgency = Urgency::Waits(UPDATE_WAIT);
        let api = &self.workspace.api;
        let shown = api.update(place, &frame.text, &frame.blocks, urgency);
        if let Err(error) = shown.await {
            tracing::warn!(%error, "the buttons of a decided confirmation stay");
        }
    }
}
