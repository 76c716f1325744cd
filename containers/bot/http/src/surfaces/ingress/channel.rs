//! An HTTP caller's channel: it collects replies, and learns the run's id when the run is created.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ars_bot_ports::{Channel, ChannelEvent, HistoryTurn, Overload, Refusal, ReplyError, texts};
use ars_types::{ChannelTraits, Platform, RunId};
use ars_wire::{
    ErrorCode,
    idempotency::FirstUse,
    ingress::{Receipt, Reply},
};
use async_trait::async_trait;
use tokio::sync::watch;

/// Separates two replies.
const BLANK_LINE: &str = "\n\n";

/// Collects the replies to a request.
pub(crate) struct HttpChannel {
    history: Vec<HistoryTurn>,
    is_async: bool,
    state: Mutex<ChannelState>,
    started: watch::Sender<Option<RunId>>,
}

#[derive(Default)]
struct ChannelState {
    replies: Vec<String>,
    receipt: Option<Receipt>,
    is_rejected_by_shutdown: bool,
    handed_off: Option<RunId>,
    failure: Option<ErrorCode>,
    overload: Option<Overload>,
    repeated: Option<FirstUse>,
}

impl HttpChannel {
    /// Returns the channel for a caller that waits for the end, with the history it sent.
    pub(crate) fn new(history: Vec<HistoryTurn>) -> Self {
        Self {
            history,
            is_async: false,
            state: Mutex::default(),
            started: watch::Sender::new(None),
        }
    }

    /// Returns the channel for a caller that only waits until the run is created.
    #[must_use]
    pub(crate) fn asynchronous(self, is_async: bool) -> Self {
        Self { is_async, ..self }
    }

    /// Returns the run's id once the core has created a run. Never completes without a run.
    pub(crate) fn started(&self) -> impl Future<Output = RunId> + Send + 'static {
        let mut started = self.started.subscribe();
        async move {
            loop {
                if let Some(id) = &*started.borrow_and_update() {
                    return id.clone();
                }
                if started.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Returns the replies so far as a 200 body.
    pub(crate) fn collected(&self) -> Reply {
        let state = self.lock();
        let (run, run_id) = (state.receipt.clone(), state.handed_off.clone());
        Reply {
            reply: state.replies.join(BLANK_LINE),
            run,
            run_id,
            code: state.failure,
        }
    }

    /// Returns `true` if the core rejected the request because it drains.
    pub(crate) fn is_rejected_by_shutdown(&self) -> bool {
        self.lock().is_rejected_by_shutdown
    }

    /// Returns the limit because of which the core refused the request, if any.
    pub(crate) fn overload(&self) -> Option<Overload> {
        self.lock().overload
    }

    /// Returns the earlier request with the same idempotency key, if any.
    pub(crate) fn repeated(&self) -> Option<FirstUse> {
        self.lock().repeated.clone()
    }

    /// Returns `true` if the replies fully answer an accepted request, for repeated ones too.
    pub(crate) fn is_complete(&self) -> bool {
        let said = self.lock();
        !(said.is_rejected_by_shutdown
            || said.failure.is_some()
            || said.handed_off.is_some()
            || said.repeated.is_some())
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Channel for HttpChannel {
    /// MCP callers have the same traits.
    fn traits(&self) -> ChannelTraits {
        let traits = Platform::Http.channel_traits();
        ChannelTraits {
            can_wait: traits.can_wait || self.is_async,
            ..traits
        }
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        self.history.clone()
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        let mut state = self.lock();
        match event {
            ChannelEvent::RejectedByShutdown => state.is_rejected_by_shutdown = true,
            ChannelEvent::Repeated(first) => state.repeated = Some(first),
            ChannelEvent::CommandAnswered { failure } => state.failure = failure.or(state.failure),
            ChannelEvent::RunStarted(run) => {
                self.started.send_replace(Some(run));
            }
            ChannelEvent::RunFinished { run, status } => {
                state.receipt = Some(Receipt { id: run, status });
            }
            // Without a receipt, which has an ended run's outcome.
            ChannelEvent::RunMoved { run, page } => {
                state.replies.push(texts::run_continues_elsewhere(&page));
                state.handed_off = Some(run);
            }
            ChannelEvent::Refused(refusal) => {
                state.failure = Some(refusal.error_code());
                if let Refusal::Overloaded(overload) = refusal {
                    state.overload = Some(overload);
                }
                state.replies.push(texts::refusal(&refusal));
            }
            other => state.replies.extend(other.into_text()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ars_types::RunStatus;

    use super::*;

    #[tokio::test]
    async fn replies_are_joined_by_a_blank_line() {
        let io = HttpChannel::new(Vec::new());
        assert_eq!(io.collected(), Reply::default());
        let id = RunId::parse("r1").unwrap();
        let started = io.started();
        io.send(ChannelEvent::RunStarted(id.clone())).await.unwrap();
        assert_eq!(started.await, id);
        io.send(ChannelEvent::Reply("a".into())).await.unwrap();
        io.send(ChannelEvent::Reply("b".into())).await.unwrap();
        let status = RunStatus::Completed;
        io.send(ChannelEvent::RunFinished {
            run: id.clone(),
            status,
        })
        .await
        .unwrap();
        let run = Some(Receipt { id, status });
        assert_eq!(
            io.collected(),
            Reply {
                reply: "a\n\nb".into(),
                run,
                ..Reply::default()
            }
        );
    }
}
