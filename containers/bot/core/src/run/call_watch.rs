//! Watches a model call: when overload started, and what attempts without a response used.
//!
//! A provider bills the tokens that it read and wrote, even if the stream broke or was closed here.
//! Usage that the stream reported is known. For an attempt without a report the caller has to
//! estimate. Not here: the consequences (`model_calls`).

use std::time::Duration;

use ars_agent::Usage;
use ars_bot_ports::{ModelDelta, ModelError, ModelErrorKind, RetryCause};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// A step's calls to a single model.
#[derive(Default)]
pub(super) struct CallWatch {
    state: watch::Sender<State>,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Reported by the current attempt.
    reported: Option<Usage>,
    /// Reported by attempts that broke off.
    broken: Usage,
    overloaded_since: Option<Instant>,
}

#[derive(Default)]
enum Phase {
    /// No request is in flight.
    #[default]
    Idle,
    /// The client backs off until then.
    Waiting(Instant),
    /// A request is in flight.
    Asking,
}

/// Usage owed for an attempt that is cut off now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// No request was in flight.
    Nothing,
    /// As the stream reported it.
    Reported(Usage),
    /// The stream reported nothing.
    Unknown,
}

impl CallWatch {
    /// The client sends a request.
    pub(super) fn begin(&self) {
        self.state.send_modify(|state| state.phase = Phase::Asking);
    }

    /// The client reports progress.
    pub(super) fn note(&self, delta: &ModelDelta) {
        self.state.send_modify(|state| match delta {
            // Output proves that the model is not overloaded.
            ModelDelta::Text(_) => state.overloaded_since = None,
            ModelDelta::Usage(usage) => {
                state.overloaded_since = None;
                state.reported = Some(*usage);
            }
            ModelDelta::Retrying { wait, cause, .. } => {
                state.attempt_failed();
                state.phase = Phase::Waiting(Instant::now() + *wait);
                if *cause == RetryCause::Overload {
                    state.overloaded_since.get_or_insert_with(Instant::now);
                }
            }
        });
    }

    /// Notes that the client answered. The turn holds the usage.
    pub(super) fn answered(&self) {
        self.state.send_modify(|state| {
            state.phase = Phase::Idle;
            state.reported = None;
        });
    }

    /// Notes that the client failed. A cancelled call keeps the state.
    pub(super) fn failed(&self, error: &ModelError) {
        if error.kind == ModelErrorKind::Cancelled {
            return;
        }
        self.state.send_modify(|state| {
            state.attempt_failed();
            state.phase = Phase::Idle;
            if error.kind.is_overload() {
                state.overloaded_since.get_or_insert_with(Instant::now);
            }
        });
    }

    /// Completes when the model has been overloaded for this long without output.
    pub(super) async fn overloaded_for(&self, limit: Duration) {
        let mut state = self.state.subscribe();
        loop {
            let since = state.borrow_and_update().overloaded_since;
            let over = async {
                match since {
                    Some(since) => sleep_until(since + limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => return,
                changed = state.changed() => if changed.is_err() { return std::future::pending().await },
            }
        }
    }

    /// Returns whether the model has been overloaded for this long.
    pub(super) fn is_overloaded_for(&self, limit: Duration) -> bool {
        self.state
            .borrow()
            .overloaded_since
            .is_some_and(|since| since.elapsed() >= limit)
    }

    /// Returns the usage from broken attempts, and resets it.
    pub(super) fn take_broken(&self) -> Usage {
        let mut broken = Usage::default();
        self.state
            .send_modify(|state| broken = std::mem::take(&mut state.broken));
        broken
    }

    /// Cuts the current attempt off.
    pub(super) fn cut_off(&self) -> Owed {
        let mut owed = Owed::Nothing;
        self.state.send_modify(|state| {
            owed = match (state.reported.take(), &state.phase) {
                (Some(usage), _) => Owed::Reported(usage),
                (None, Phase::Asking) => Owed::Unknown,
                (None, Phase::Waiting(until)) if *until <= Instant::now() => Owed::Unknown,
                (None, Phase::Waiting(_) | Phase::Idle) => Owed::Nothing,
            };
            *state = State {
                broken: state.broken,
                ..State::default()
            };
        });
        owed
    }
}

impl State {
    fn attempt_failed(&mut self) {
        if let Some(usage) = self.reported.take() {
            self.broken += usage;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const READ: Usage = Usage {
        input_tokens: 700,
        output_tokens: 1,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
    };

    fn retrying(seconds: u32) -> ModelDelta {
        ModelDelta::Retrying {
            attempt: 1,
            wait: SECOND * seconds,
            cause: RetryCause::Overload,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_attempt_under_way_is_paid_for() {
        let call = CallWatch::default();
        assert_eq!(call.cut_off(), Owed::Nothing);
        call.begin();
        assert_eq!(call.cut_off(), Owed::Unknown);
        call.begin();
        call.note(&retrying(5));
        assert_eq!(call.cut_off(), Owed::Nothing);
        call.begin();
        call.note(&retrying(5));
        tokio::time::advance(SECOND * 6).await;
        assert_eq!(call.cut_off(), Owed::Unknown);
        call.begin();
        call.note(&ModelDelta::Usage(READ));
        assert_eq!(call.cut_off(), Owed::Reported(READ));
        call.begin();
        call.note(&ModelDelta::Usage(READ));
        call.answered();
        assert_eq!(
            (call.cut_off(), call.take_broken()),
            (Owed::Nothing, Usage::default())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn usage_of_broken_attempts_is_taken_once() {
        let call = CallWatch::default();
        call.begin();
        call.note(&ModelDelta::Usage(READ));
        call.note(&retrying(1));
        call.note(&ModelDelta::Usage(READ));
        call.failed(&ModelError {
            kind: ModelErrorKind::Protocol,
            message: String::new(),
        });
        assert_eq!(call.take_broken().input_tokens, 1_400);
        assert_eq!(call.take_broken(), Usage::default());
    }

    #[tokio::test(start_paused = true)]
    async fn overload_lasts_until_the_first_output() {
        let call = CallWatch::default();
        let began = Instant::now();
        call.note(&retrying(1));
        tokio::time::advance(SECOND * 9).await;
        call.note(&retrying(60));
        call.overloaded_for(SECOND * 10).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        call.note(&ModelDelta::Text("here".into()));
        assert!(!call.is_overloaded_for(Duration::ZERO));
        let waited = tokio::time::timeout(SECOND * 100, call.overloaded_for(SECOND)).await;
        assert!(waited.is_err());
    }
}
