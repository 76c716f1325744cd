//! Native streams: messages that grow while the bot works, shown to one person as they grow.
//!
//! Not here: their content (`ars_slack::card`), and when it is sent (`card`).

use std::sync::atomic::Ordering;

use ars_slack::Ts;
use serde_json::{Value, json};

use super::{
    Api, ApiError, Method, Urgency,
    calls::{call, required},
};

/// The person who sees a stream grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// User id.
    pub user: String,
    /// The user's workspace.
    pub team: String,
}

impl Api {
    /// Returns whether a stream is worth a try: no longer once the method was refused.
    pub fn has_streams(&self) -> bool {
        !self.lacks_streams().load(Ordering::Relaxed)
    }

    /// Starts a stream in a thread. Returns its message.
    pub async fn start_stream(
        &self,
        channel: &str,
        thread: Ts,
        recipient: &Recipient,
        chunks: &[Value],
    ) -> Result<Ts, ApiError> {
        let arguments = json!({
            "channel": channel, "thread_ts": thread.to_string(), "recipient_user_id": recipient.user,
            "recipient_team_id": recipient.team, "task_display_mode": "plan", "chunks": chunks,
        });
        let mut call = call(Method::StartStream, Some(channel), arguments);
        call.urgency = Urgency::Yields;
        let started = self.call(&call).await;
        if started.as_ref().is_err_and(ApiError::is_unsupported) {
            self.lacks_streams().store(true, Ordering::Relaxed);
        }
        let body = started?;
        Ts::parse(&required(&body["ts"])?).ok_or(ApiError::Unreadable)
    }

    /// Adds chunks to a stream.
    pub async fn append_stream(
        &self,
        (channel, ts): (&str, Ts),
        chunks: &[Value],
    ) -> Result<(), ApiError> {
        let arguments = json!({ "channel": channel, "ts": ts.to_string(), "chunks": chunks });
        let mut call = call(Method::AppendStream, Some(channel), arguments);
        call.urgency = Urgency::Yields;
        self.call(&call).await.map(drop)
    }

    /// Ends a stream, with blocks below the streamed content.
    pub async fn stop_stream(
        &self,
        (channel, ts): (&str, Ts),
        chunks: &[Value],
        blocks: Option<&Value>,
        urgency: Urgency,
    ) -> Result<(), ApiError> {
        let chunks = (!chunks.is_empty()).then_some(chunks);
        let arguments = json!({
            "channel": channel, "ts": ts.to_string(), "chunks": chunks, "blocks": blocks,
        });
        let mut call = call(Method::StopStream, Some(channel), arguments);
        call.urgency = urgency;
        self.call(&call).await.map(drop)
    }
}
