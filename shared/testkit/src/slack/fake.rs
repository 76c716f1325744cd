//! The handle to a fake workspace: tokens, people and channels, faults and the record of calls.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{net::TcpListener, task::AbortHandle};

use super::{
    envelopes::{Disconnect, FakeEnvelope, Frame},
    fault::{Fault, Planned},
    server,
    shared::Shared,
    state::{
        Call, FakeChannel, FakeFile, FakeMessage, FakeReaction, FakeStatus, FakeUser, Workspace,
    },
};

/// A fake workspace on a free port, until dropped.
///
/// It has the user `U0ADA`, the channel `C0GENERAL` with the bot in it, and the direct messages
/// `D0ADA`.
#[derive(Debug)]
pub struct FakeSlack {
    pub(super) shared: Arc<Shared>,
    serving: AbortHandle,
}

impl FakeSlack {
    /// Starts a workspace on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        Self::serve(listener.expect("a free port"))
    }

    /// Serves a workspace on this listener.
    pub fn serve(listener: TcpListener) -> Self {
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let shared = Arc::new(Shared::new(Workspace::new(address.to_string())));
        let task = tokio::spawn(server::run(listener, Arc::clone(&shared)));
        let fake = Self {
            shared,
            serving: task.abort_handle(),
        };
        fake.add_user(FakeUser::person("U0ADA", "ada", "Ada Lovelace"));
        fake.add_channel(FakeChannel::public("C0GENERAL", "general"));
        fake.add_channel(FakeChannel::direct("D0ADA", "U0ADA"));
        fake
    }

    /// Serves a workspace with random tokens, and with a page for a person.
    pub fn rehearse(listener: TcpListener) -> Self {
        let fake = Self::serve(listener);
        fake.shared.change(|workspace| {
            workspace.tokens.bot = format!("xoxb-{}", random());
            workspace.tokens.app = format!("xapp-1-{}-{}", workspace.app_id, random());
            workspace.page_key = Some(random());
        });
        fake
    }

    /// Returns the link to the page of a rehearsal, which contains the key.
    ///
    /// # Panics
    /// When the workspace is no rehearsal.
    pub fn page(&self) -> String {
        self.shared.read(|workspace| {
            let key = workspace.page_key.as_ref().expect("it is a rehearsal");
            format!("http://{}/#{key}", workspace.authority)
        })
    }

    /// Returns the base address of the Web API.
    pub fn url(&self) -> String {
        self.shared
            .read(|workspace| format!("http://{}/api", workspace.authority))
    }

    /// Returns the bot's token.
    pub fn bot_token(&self) -> String {
        self.shared.read(|workspace| workspace.tokens.bot.clone())
    }

    /// Returns the app's token, for Socket Mode.
    pub fn app_token(&self) -> String {
        self.shared.read(|workspace| workspace.tokens.app.clone())
    }

    /// Returns the bot's user id.
    pub fn bot_user(&self) -> String {
        self.shared.read(|workspace| workspace.bot_user.clone())
    }

    /// Returns the workspace's id.
    pub fn team(&self) -> String {
        self.shared.read(|workspace| workspace.team_id.clone())
    }

    /// Returns the bot's mention in Slack's markup.
    pub fn mention(&self) -> String {
        format!("<@{}>", self.bot_user())
    }

    /// Adds a user, or replaces the one with this id.
    pub fn add_user(&self, user: FakeUser) {
        self.shared
            .change(|workspace| workspace.users.insert(user.id.clone(), user));
    }

    /// Adds a channel, or replaces the one with this id.
    pub fn add_channel(&self, channel: FakeChannel) {
        self.shared
            .change(|workspace| workspace.channels.insert(channel.id.clone(), channel));
    }

    /// Changes a channel, such as to archive it.
    pub fn change_channel(&self, id: &str, change: impl FnOnce(&mut FakeChannel)) {
        self.shared.change(|workspace| {
            change(workspace.channels.get_mut(id).expect("the channel exists"));
        });
    }

    /// Takes a scope away from the bot's token.
    pub fn revoke_scope(&self, scope: &str) {
        self.shared
            .change(|workspace| workspace.scopes.remove(scope));
    }

    /// Revokes both tokens.
    pub fn revoke_tokens(&self) {
        self.shared
            .change(|workspace| workspace.tokens.is_revoked = true);
    }

    /// Stops the workspace's clock at this time since the epoch.
    pub fn freeze_clock(&self, since_epoch: Duration) {
        self.shared
            .change(|workspace| workspace.clock.freeze(since_epoch));
    }

    /// Moves the workspace's clock forward.
    pub fn advance_clock(&self, by: Duration) {
        self.shared.change(|workspace| workspace.clock.advance(by));
    }

    /// Answers calls over Slack's rate limits with 429, on the workspace's clock.
    pub fn enforce_limits(&self) {
        self.shared
            .change(|workspace| workspace.limits.is_enforced = true);
    }

    /// Stores messages without sending events from now on, as when the service is not connected.
    pub fn mute(&self) {
        self.shared.change(|workspace| workspace.is_muted = true);
    }

    /// Sends events again.
    pub fn unmute(&self) {
        self.shared.change(|workspace| workspace.is_muted = false);
    }

    /// Queues a fault for the next call of a method; `*` is any method.
    pub fn fail(&self, method: &str, fault: Fault) {
        self.fail_after(0, method, fault);
    }

    /// Queues a fault for a later call of a method, after this many of them.
    pub fn fail_after(&self, calls: usize, method: &str, fault: Fault) {
        let planned = Planned {
            method: method.to_owned(),
            after: calls,
            fault,
        };
        self.shared
            .change(|workspace| workspace.faults.push_back(planned));
    }

    /// Returns the calls so far, uploads and downloads included, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.read(|workspace| workspace.calls.clone())
    }

    /// Returns the calls of a method so far.
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.method == method);
        calls
    }

    /// Returns all messages in a channel, replies included, by ascending timestamp.
    pub fn messages(&self, channel: &str) -> Vec<FakeMessage> {
        self.shared
            .read(|workspace| workspace.channels[channel].messages.clone())
    }

    /// Returns a thread: the first message, then the replies.
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<FakeMessage> {
        let mut messages = self.messages(channel);
        messages.retain(|one| one.ts == ts || one.thread_ts.as_deref() == Some(ts));
        messages
    }

    /// Returns messages that only one user sees, with that user.
    pub fn ephemeral(&self, channel: &str) -> Vec<(String, FakeMessage)> {
        self.shared
            .read(|workspace| workspace.channels[channel].ephemeral.clone())
    }

    /// Returns the reactions to a message.
    pub fn reactions(&self, channel: &str, ts: &str) -> Vec<FakeReaction> {
        self.shared.read(|workspace| {
            let message = workspace.message(channel, ts).expect("the message exists");
            message.reactions.clone()
        })
    }

    /// Returns every status that was set in a thread, oldest first.
    pub fn statuses(&self, channel: &str, thread_ts: &str) -> Vec<FakeStatus> {
        let mut statuses = self.shared.read(|workspace| workspace.statuses.clone());
        statuses.retain(|one| one.channel == channel && one.thread_ts == thread_ts);
        statuses
    }

    /// Returns a file with its content.
    pub fn file(&self, id: &str) -> FakeFile {
        self.shared.read(|workspace| workspace.files[id].clone())
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.read(|workspace| workspace.sockets.open.len())
    }

    /// Returns the number of connections so far, closed ones included.
    pub fn connections_opened(&self) -> u64 {
        self.shared.read(|workspace| workspace.sockets.opened)
    }

    /// Returns every envelope so far.
    pub fn envelopes(&self) -> Vec<FakeEnvelope> {
        self.shared
            .read(|workspace| workspace.sockets.envelopes.clone())
    }

    /// Returns the number of pongs that answered [`FakeSlack::ping`].
    pub fn pongs(&self) -> usize {
        self.shared.read(|workspace| workspace.sockets.pongs)
    }

    /// Sends an envelope again, whether or not it was acknowledged.
    pub fn redeliver(&self, envelope: &str) {
        self.shared
            .change(|workspace| workspace.sockets.send(envelope, "timeout"));
    }

    /// Sends each event again, up to three times, when no acknowledgement arrives in this time.
    pub fn redeliver_after(&self, timeout: Duration) {
        self.shared
            .change(|workspace| workspace.sockets.retry_after = Some(timeout));
    }

    /// Asks every client to connect anew. [`Disconnect::RefreshRequested`] also ends connections.
    pub fn disconnect(&self, reason: Disconnect) {
        self.shared.change(|workspace| {
            let name = match reason {
                Disconnect::Warning => "warning",
                Disconnect::RefreshRequested => "refresh_requested",
            };
            let frame = json!({
                "type": "disconnect", "reason": name, "debug_info": { "host": "applink-fake" },
            });
            let sockets = &mut workspace.sockets;
            sockets.broadcast(|| Frame::Text(frame.to_string()));
            if reason == Disconnect::RefreshRequested {
                sockets.broadcast(|| Frame::Close);
                sockets.open.iter_mut().for_each(|one| one.is_ending = true);
            }
        });
    }

    /// Ends every connection without a close frame.
    pub fn drop_connections(&self) {
        self.shared.change(|workspace| {
            workspace.sockets.broadcast(|| Frame::Abort);
            let open = workspace.sockets.open.iter_mut();
            open.for_each(|one| one.is_ending = true);
        });
    }

    /// Allows native streams from now on. Without it `chat.startStream` is refused.
    pub fn allow_streams(&self) {
        self.shared
            .change(|workspace| workspace.allows_streams = true);
    }

    /// Ends every open stream, as Slack does after some minutes.
    pub fn end_streams(&self) {
        self.shared.change(|workspace| {
            let channels = workspace.channels.values_mut();
            let messages = channels.flat_map(|channel| &mut channel.messages);
            messages.for_each(|message| message.is_streaming = false);
        });
    }

    /// Sends a ping to every connection.
    pub fn ping(&self) {
        self.shared
            .change(|workspace| workspace.sockets.broadcast(|| Frame::Ping));
    }
}

fn random() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Drop for FakeSlack {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
