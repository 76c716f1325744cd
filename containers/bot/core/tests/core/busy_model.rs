//! A busy, silent or interrupted model: fallback, and the cost of calls without a response.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_agent::{ModelTurn, Part, StopReason, Usage, money::Price};
use ars_bot_core::{
    Capabilities, Core, Deps,
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::{
    ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models, RetryCause,
    RunStore, UnknownProvider,
};
use ars_events::{Actor, ActorKind, Redactor};
use ars_runs::{COST, RunRecord};
use ars_types::{ModelRef, RunStatus, StopMode};
use async_trait::async_trait;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::support::{MemoryStore, OneWorkspace, RecordingChannel, TickingClock, message};

/// A micro-dollar a token, so that costs read as tokens.
const PRICE: Price = Price {
    input: 1_000_000,
    output: 1_000_000,
    cache_read: 1_000_000,
    cache_write: 1_000_000,
};
const READ: Usage = Usage {
    input_tokens: 900,
    output_tokens: 7,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
};

/// How every call to the first model behaves.
#[derive(Clone, Copy)]
enum Habit {
    /// Overloaded, with a client that waits as long as the provider requests.
    Busy { retry_after: Duration },
    /// Overloaded, with a client that does not retry.
    Refuses,
    /// Overloaded once, then streams for longer than the patience for overloads.
    Recovers,
    /// Reads the request, reports usage if present, and never ends.
    Silent { reports: Option<Usage> },
    /// The stream breaks once after this report, and the second attempt answers.
    BreaksOnce,
}

struct Provider {
    habit: Habit,
    asked: Mutex<Vec<(String, Instant)>>,
    called: Notify,
}

/// Lets time pass on the paused clock, which advances when all tasks wait.
async fn passes(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        tokio::time::sleep_until(until).await;
    }
}

fn answer(usage: Usage) -> ModelTurn {
    ModelTurn {
        parts: vec![Part::text("done")],
        stop: StopReason::EndTurn,
        usage,
    }
}

fn overloaded() -> ModelError {
    let kind = ModelErrorKind::Overloaded { retry_after: None };
    ModelError {
        kind,
        message: "as scripted".into(),
    }
}

const fn retrying(wait: Duration, cause: RetryCause) -> ModelDelta {
    ModelDelta::Retrying {
        attempt: 1,
        wait,
        cause,
    }
}

impl Provider {
    async fn first(
        &self,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
    ) -> Result<ModelTurn, ModelError> {
        match self.habit {
            Habit::Busy { retry_after } => loop {
                deltas(retrying(retry_after, RetryCause::Overload));
                passes(retry_after).await;
            },
            Habit::Refuses => Err(overloaded()),
            Habit::Recovers => {
                deltas(retrying(Duration::from_secs(20), RetryCause::Overload));
                passes(Duration::from_secs(20)).await;
                deltas(ModelDelta::Usage(READ));
                passes(Duration::from_secs(60)).await;
                Ok(answer(READ))
            }
            Habit::Silent { reports } => {
                reports
                    .into_iter()
                    .for_each(|usage| deltas(ModelDelta::Usage(usage)));
                self.called.notify_one();
                std::future::pending().await
            }
            Habit::BreaksOnce => {
                deltas(ModelDelta::Usage(READ));
                deltas(retrying(Duration::from_secs(1), RetryCause::Unreachable));
                Ok(answer(READ))
            }
        }
    }
}

#[async_trait]
impl ModelClient for Provider {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        self.asked
            .lock()
            .unwrap()
            .push((request.model.to_owned(), Instant::now()));
        if request.model == "second" {
            return Ok(answer(Usage::default()));
        }
        tokio::select! {
            answer = self.first(deltas) => answer,
            () = cancel.cancelled() => {
                Err(ModelError { kind: ModelErrorKind::Cancelled, message: "stopped".into() })
            }
        }
    }
}

struct Both(Arc<Provider>);

impl Models for Both {
    fn client(&self, _model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        let client: Arc<dyn ModelClient> = Arc::<Provider>::clone(&self.0);
        Ok(client)
    }
}

struct World {
    core: Core,
    provider: Arc<Provider>,
    store: Arc<MemoryStore>,
    io: Arc<RecordingChannel>,
}

fn world(habit: Habit) -> World {
    let provider = Arc::new(Provider {
        habit,
        asked: Mutex::default(),
        called: Notify::new(),
    });
    let store = Arc::new(MemoryStore::default());
    let as_store: Arc<dyn RunStore> = Arc::<MemoryStore>::clone(&store);
    let model = |name| ModelRef::parse(name).unwrap();
    let mut settings = Settings {
        default_model: Some(model("scripted/first")),
        fallback_model: Some(model("scripted/second")),
        money: MoneyCaps {
            run: Some(1_000_000),
            day: None,
        },
        ..Settings::default()
    };
    settings.prices.insert(&model("scripted/first"), PRICE);
    settings.prices.insert(&model("scripted/second"), PRICE);
    let core = Core::new(Deps {
        clock: Arc::new(TickingClock::default()),
        models: Arc::new(Both(Arc::clone(&provider))),
        workspaces: Arc::new(OneWorkspace(Arc::default())),
        store: as_store,
        capabilities: Capabilities::default(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        settings,
    });
    World {
        core,
        provider,
        store,
        io: Arc::default(),
    }
}

impl World {
    async fn ask(&self) -> RunRecord {
        let io: Arc<RecordingChannel> = Arc::clone(&self.io);
        self.core.dispatch(message("hello"), io).await;
        self.record().await
    }

    async fn record(&self) -> RunRecord {
        assert!(
            self.core.idle(Duration::from_secs(60)).await,
            "still in flight"
        );
        self.store.puts.lock().unwrap().last().cloned().unwrap()
    }

    /// Sends a request, and stops the run hard once `when` is over.
    async fn ask_and_stop(&self, when: impl Future<Output = ()>) -> RunRecord {
        let io: Arc<RecordingChannel> = Arc::clone(&self.io);
        let stop = async {
            when.await;
            self.core
                .registry()
                .stop_all(StopMode::Hard, &Actor::new(ActorKind::Cli, "local"));
        };
        tokio::join!(self.core.dispatch(message("hello"), io), stop);
        self.record().await
    }

    fn asked(&self) -> Vec<String> {
        self.provider
            .asked
            .lock()
            .unwrap()
            .iter()
            .map(|(model, _)| model.clone())
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn fallback_follows_thirty_seconds_of_overload() {
    for wait in [1, 45, 120] {
        let world = world(Habit::Busy {
            retry_after: Duration::from_secs(wait),
        });
        let record = world.ask().await;
        assert_eq!(
            (record.status, world.asked()),
            (RunStatus::Completed, vec!["first".into(), "second".into()])
        );
        let asked = world.provider.asked.lock().unwrap();
        assert_eq!(
            (asked[1].1 - asked[0].1).as_secs(),
            30,
            "retry-after {wait} s"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_recovers_is_left_to_finish() {
    let world = world(Habit::Recovers);
    let record = world.ask().await;
    assert_eq!(
        (record.status, world.asked()),
        (RunStatus::Completed, vec!["first".to_owned()])
    );
    assert_eq!(record.extra[COST], 907);
}

#[tokio::test(start_paused = true)]
async fn hard_stop_interrupts_an_overload_wait() {
    let world = world(Habit::Refuses);
    let began = Instant::now();
    let record = world.ask_and_stop(passes(Duration::from_millis(500))).await;
    assert_eq!(
        (record.status, world.asked().len()),
        (RunStatus::StoppedHard, 1)
    );
    assert_eq!(began.elapsed().as_millis(), 500);
    assert_eq!(record.extra[COST], 0);
}

#[tokio::test(start_paused = true)]
async fn stopped_call_costs_its_reported_usage() {
    let world = world(Habit::Silent {
        reports: Some(READ),
    });
    let record = world.ask_and_stop(world.provider.called.notified()).await;
    assert_eq!(
        (record.status, record.extra[COST].as_u64()),
        (RunStatus::StoppedHard, Some(907))
    );
}

#[tokio::test(start_paused = true)]
async fn unreported_call_costs_its_estimated_input() {
    let world = world(Habit::Silent { reports: None });
    let record = world.ask_and_stop(world.provider.called.notified()).await;
    // The system prompt and the tools alone are hundreds of tokens.
    assert!(
        record.extra[COST].as_u64() > Some(200),
        "{:?}",
        record.extra
    );
}

#[tokio::test(start_paused = true)]
async fn timed_out_call_is_counted() {
    let world = world(Habit::Silent {
        reports: Some(READ),
    });
    let record = world.ask().await;
    // The call, and the closing call after it, which was silent too.
    assert_eq!(
        (record.status, record.extra[COST].as_u64()),
        (RunStatus::Completed, Some(2 * 907))
    );
}

#[tokio::test(start_paused = true)]
async fn broken_attempt_is_counted_too() {
    let record = world(Habit::BreaksOnce).ask().await;
    assert_eq!(record.extra[COST], 2 * 907);
}
