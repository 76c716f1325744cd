//! The channel of an HTTP caller: it collects replies, and learns the run's id at its creation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ars_bot_ports::{ChannelIo, HistoryTurn, Overload, Refusal, ReplyError, texts};
use ars_types::{RunId, RunStatus};
use ars_wire::{
    ErrorCode,
    idempotency::FirstUse,
    ingress::{Receipt, Reply},
};
use async_trait::async_trait;
use tokio::sync::watch;

/// Separates replies.
const BLANK_LINE: &str = "\n\n";

/// Collects the replies to one request.
pub(crate) struct HttpChannel {
    history: Vec<HistoryTurn>,
    may_wait: bool,
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
    /// Returns the channel of a caller that waits for the end, with the history that the caller sent.
    pub(crate) fn new(history: Vec<HistoryTurn>) -> Self {
        Self { history, may_wait: false, state: Mutex::default(), started: watch::Sender::new(None) }
    }

    /// Returns the channel of a caller that waits for the creation of the run only.
    #[must_use]
    pub(crate) fn asynchronous(self, is_async: bool) -> Self {
        Self { may_wait: is_async, ..self }
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

    /// Returns the replies so far as the body of a 200.
    pub(crate) fn collected(&self) -> Reply {
        let state = self.lock();
        let (run, run_id) = (state.receipt.clone(), state.handed_off.clone());
        Reply { reply: state.replies.join(BLANK_LINE), run, run_id, code: state.failure }
    }

    /// Returns `true` if the core rejected the request because of a drain.
    pub(crate) fn is_rejected_by_shutdown(&self) -> bool {
        self.lock().is_rejected_by_shutdown
    }

    /// Returns the limit because of which the core refused the request, if there is one.
    pub(crate) fn overload(&self) -> Option<Overload> {
        self.lock().overload
    }

    /// Returns the earlier request with the same idempotency key, if there is one.
    pub(crate) fn repeated(&self) -> Option<FirstUse> {
        self.lock().repeated.clone()
    }

    /// Returns `true` if the replies are the complete answer of an accepted request, for repeated ones too.
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
impl ChannelIo for HttpChannel {
    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        self.lock().replies.push(text.to_owned());
        Ok(())
    }

    async fn refused(&self, refusal: &Refusal) -> Result<(), ReplyError> {
        self.lock().failure = Some(refusal.error_code());
        if let Refusal::Overloaded(overload) = refusal {
            self.lock().overload = Some(*overload);
        }
        self.reply(&texts::refusal(refusal)).await
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        self.history.clone()
    }

    fn may_wait(&self) -> bool {
        self.may_wait
    }

    fn command_answered(&self, failure: Option<ErrorCode>) {
        let mut state = self.lock();
        state.failure = failure.or(state.failure);
    }

    fn rejected_by_shutdown(&self) {
        self.lock().is_rejected_by_shutdown = true;
    }

    fn run_started(&self, id: &RunId) {
        self.started.send_replace(Some(id.clone()));
    }

    fn run_finished(&self, id: &RunId, status: RunStatus) {
        self.lock().receipt = Some(Receipt { id: id.clone(), status });
    }

    /// Adds no receipt: a receipt has the outcome of a run that ended.
    fn run_continues_elsewhere(&self, id: &RunId, page: &str) {
        let mut state = self.lock();
        state.replies.push(texts::run_continues_elsewhere(page));
        state.handed_off = Some(id.clone());
    }

    fn repeats(&self, first: &FirstUse) {
        self.lock().repeated = Some(first.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_are_joined_by_a_blank_line() {
        let io = HttpChannel::new(Vec::new());
        assert_eq!(io.collected(), Reply::default());
        let id = RunId::parse("r1").unwrap();
        let started = io.started();
        io.run_started(&id);
        assert_eq!(started.await, id);
        io.reply("a").await.unwrap();
        io.reply("b").await.unwrap();
        io.run_finished(&id, RunStatus::Completed);
        let run = Some(Receipt { id, status: RunStatus::Completed });
        assert_eq!(io.collected(), Reply { reply: "a\n\nb".into(), run, ..Reply::default() });
    }
}
