//! The object itself: one store, its verbs, and the alarm that sweeps it.

use std::cell::OnceCell;

use ars_platform::{Alarm, DoSql, internal, json, now, refuse};
use ars_runs::{Refusal, RunStore, SWEEP_EVERY_MS, StoreFailure};
use ars_sql::{MigrationError, SqlError};
use worker::{Request, Response, Result, State, console_error};

use crate::Verb;

/// A run store as a Durable Object; the Worker wraps it in the class it exports.
pub struct RunStoreObject {
    state: State,
    /// Empty only while the database cannot be opened; the next request tries again.
    store: OnceCell<RunStore<DoSql>>,
}

/// A fault of ours. The text is for the log.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the run store cannot be opened")]
    Open(#[from] MigrationError),
    #[error("the run store failed")]
    Storage(#[from] SqlError),
}

/// An answer's text or the caller's fault; else a fault of ours.
type Answer = std::result::Result<std::result::Result<String, Refusal>, Fault>;

impl RunStoreObject {
    /// Wakes the object and brings its tables up to date.
    pub fn new(state: State) -> Self {
        let object = Self { state, store: OnceCell::new() };
        // A constructor cannot answer; the first request will, by trying again.
        if let Err(fault) = object.store() {
            console_error!("{fault} when waking");
        }
        object
    }

    /// Answers one request.
    pub async fn fetch(&self, mut request: Request) -> Result<Response> {
        let Some(verb) = Verb::of(&request.path()) else { return refuse(404, "not found") };
        let Ok(body) = String::from_utf8(request.bytes().await?) else {
            return refuse(400, "body must be UTF-8");
        };
        // From here to the answer nothing awaits, so no other request of this object comes between.
        match self.answer(verb, &body) {
            Ok(Ok(answer)) => {
                if verb == Verb::Put {
                    self.arm().await;
                }
                json(200, answer)
            }
            Ok(Err(refusal)) => refuse(refusal.status, &refusal.message),
            Err(fault) => internal(&fault),
        }
    }

    /// Sweeps, and sets the next alarm even after a sweep that failed: reads hide what it would have deleted, so
    /// the only harm is disk space until the next one.
    pub async fn alarm(&self) -> Result<Response> {
        let swept = self.store().and_then(|store| Ok(store.sweep(now())?));
        Alarm::new(&self.state).set(now() + SWEEP_EVERY_MS).await?;
        match swept {
            Ok(deleted) => json(200, format!(r#"{{"deleted":{deleted}}}"#)),
            Err(fault) => internal(&fault),
        }
    }

    fn answer(&self, verb: Verb, body: &str) -> Answer {
        let store = self.store()?;
        let answer = match verb {
            Verb::Put => store.put(body, now()),
            Verb::Get => store.get(body, now()),
            Verb::List => store.list(body, now()),
            Verb::Events => store.events(body, now()),
        };
        match answer {
            Ok(text) => Ok(Ok(text)),
            Err(StoreFailure::Refusal(refusal)) => Ok(Err(refusal)),
            Err(StoreFailure::Fault(fault)) => Err(fault.into()),
        }
    }

    fn store(&self) -> std::result::Result<&RunStore<DoSql>, Fault> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = RunStore::open(DoSql::new(&self.state)?)?;
        Ok(self.store.get_or_init(|| store))
    }

    /// Sets the alarm unless it is set. The put it follows is already durable, so a failure is ours to log and not
    /// the caller's to hear; the next put tries again.
    async fn arm(&self) {
        let alarm = Alarm::new(&self.state);
        let armed = match alarm.due().await {
            Ok(Some(_)) => return,
            Ok(None) => alarm.set(now() + SWEEP_EVERY_MS).await,
            Err(error) => Err(error),
        };
        if let Err(error) = armed {
            console_error!("fault: the sweep's alarm was not set: {error}");
        }
    }
}
