//! Events and interactions, as Slack sends them to an app.

use serde_json::{Value, json};

use super::{
    render,
    state::{FakeMessage, Workspace},
};

impl Workspace {
    /// Sends the events about a new message: `message`, and `app_mention` if the bot is mentioned.
    pub(super) fn announce(&mut self, channel: &str, message: &FakeMessage) {
        let mut event = render::message(self, channel, message);
        let kind = self.channels[channel].kind();
        event["channel"] = channel.into();
        event["event_ts"] = message.ts.as_str().into();
        let mut mention = event.clone();
        event["channel_type"] = kind.into();
        if self.receives(channel) {
            self.send_event(channel, &event);
        }
        let mentions = message.text.contains(&format!("<@{}>", self.bot_user));
        let is_person = message.bot_id.is_none();
        let is_member = self.channels[channel].is_member;
        let is_granted = self.has_scope("app_mentions:read");
        if mentions && is_person && is_member && is_granted && kind != "im" {
            mention["type"] = "app_mention".into();
            mention
                .as_object_mut()
                .expect("an event is an object")
                .shift_remove("subtype");
            self.send_event(channel, &mention);
        }
    }

    /// Sends the event about a changed message.
    pub(super) fn announce_change(&mut self, channel: &str, before: &Value, ts: &str) {
        if !self.receives(channel) {
            return;
        }
        let message = self.message(channel, ts).expect("the message was changed");
        let message = render::message(self, channel, message);
        let mut event = self.hidden(channel, "message_changed");
        event["message"] = message;
        event["previous_message"] = before.clone();
        self.send_event(channel, &event);
    }

    /// Sends the event about a deleted message.
    pub(super) fn announce_deletion(&mut self, channel: &str, before: &Value) {
        if !self.receives(channel) {
            return;
        }
        let mut event = self.hidden(channel, "message_deleted");
        event["deleted_ts"] = before["ts"].clone();
        event["previous_message"] = before.clone();
        self.send_event(channel, &event);
    }

    /// Sends the event about a person who stopped a stream's session.
    pub(super) fn send_session_stop(&mut self, channel: &str, stream: &str, user: &str) {
        let message = self.message(channel, stream).expect("the stream exists");
        let thread = message.thread_ts.clone();
        let ts = self.clock.next_ts();
        let event = json!({
            "type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": user,
            "streaming_message_ts": [stream], "event_ts": ts,
        });
        self.send_event(channel, &event);
    }

    /// Returns an event about another message.
    fn hidden(&mut self, channel: &str, subtype: &str) -> Value {
        let ts = self.clock.next_ts();
        json!({
            "type": "message", "subtype": subtype, "hidden": true, "channel": channel,
            "channel_type": self.channels[channel].kind(), "ts": ts, "event_ts": ts,
        })
    }

    /// Returns whether the app receives messages in a channel.
    fn receives(&self, channel: &str) -> bool {
        let channel = &self.channels[channel];
        let scope = match channel.kind() {
            "channel" => "channels:history",
            "group" => "groups:history",
            "im" => "im:history",
            _ => "mpim:history",
        };
        channel.is_member && self.has_scope(scope)
    }

    /// Sends an event, unless the workspace is muted.
    fn send_event(&mut self, channel: &str, event: &Value) {
        if self.is_muted {
            return;
        }
        let id = self.id("Ev");
        let payload = json!({
            "token": "fake-verification-token", "team_id": self.team_id, "context_team_id": self.team_id,
            "context_enterprise_id": null, "api_app_id": self.app_id, "event": event, "type": "event_callback",
            "event_id": id, "event_time": self.clock.seconds(),
            "authorizations": [{
                "enterprise_id": null, "team_id": self.team_id, "user_id": self.bot_user, "is_bot": true,
                "is_enterprise_install": false,
            }],
            "is_ext_shared_channel": self.channels[channel].is_ext_shared,
            "event_context": format!("4-{id}"),
        });
        let envelope = self.id("envelope-");
        self.sockets.push(&envelope, "events_api", payload);
    }

    /// Sends the interaction for a pressed button. Returns `None` if there is no such button.
    pub(super) fn send_press(
        &mut self,
        channel: &str,
        ts: &str,
        action: &str,
        user: &str,
    ) -> Option<()> {
        let message = self.message(channel, ts)?;
        let (block, button) = button(message, action)?;
        let rendered = render::message(self, channel, message);
        let thread = message.thread_ts.clone();
        let action_ts = self.clock.next_ts();
        let mut pressed = json!({
            "action_id": action, "block_id": block, "type": "button", "text": button["text"], "action_ts": action_ts,
        });
        for name in ["value", "style"] {
            if !button[name].is_null() {
                pressed[name] = button[name].clone();
            }
        }
        let mut container = json!({
            "type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false,
        });
        if let Some(thread) = thread {
            container["thread_ts"] = thread.into();
        }
        let person = &self.users[user];
        let payload = json!({
            "type": "block_actions",
            "user": { "id": user, "username": person.name, "name": person.name, "team_id": person.team_id },
            "api_app_id": self.app_id, "token": "fake-verification-token", "container": container,
            "trigger_id": format!("1.2.{action_ts}"), "team": { "id": self.team_id, "domain": self.domain },
            "enterprise": null, "is_enterprise_install": false,
            "channel": { "id": channel, "name": self.channels[channel].name }, "message": rendered,
            "state": { "values": {} }, "response_url": format!("http://{}/actions", self.authority),
            "actions": [pressed],
        });
        let envelope = self.id("envelope-");
        self.sockets.push(&envelope, "interactive", payload);
        Some(())
    }
}

/// Returns a button and its block's id.
fn button(message: &FakeMessage, action: &str) -> Option<(Value, Value)> {
    for block in &message.blocks {
        let elements = block["elements"].as_array().into_iter().flatten();
        let mut elements = elements.chain([&block["accessory"]]);
        if let Some(found) = elements.find(|one| one["action_id"] == action) {
            return Some((block["block_id"].clone(), found.clone()));
        }
    }
    None
}
