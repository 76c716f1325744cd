//! A store as a Durable Object: one shell for all of them.
//!
//! - **Invariants:** everything lies in SQLite, so the object may be evicted or its isolate lost at any line. The
//!   tables are brought up to date when the object wakes. Where the store sweeps, the alarm is set whenever a request
//!   that arms it has succeeded, and again after every sweep.
//! - **Routes:** the paths of the store's verbs, POST, body and answer in JSON: 200 with the store's answer, 400 or
//!   409 with its refusal, 500 with a fixed body for a fault, 404 for a path that is no verb. The checks before
//!   validation (state-worker supplement section 1.1, 0 to 5) are the Worker's.
//! - **Atomicity:** a request's body is read before its store operation begins, and the operation is one synchronous
//!   span in which nothing else of the object runs.
//!
//! Not here: what a store does; which class a Worker exports.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use ars_sql::{MigrationError, SqlError};
use ars_store::{Refusal, Store, StoreFailure};
use ars_wire::state::Verb;
use worker::{Request, Response, Result, State, console_error};

use crate::{Alarm, DoSql, answer, clock::now};

/// A store as a Durable Object; a Worker wraps it in the class it exports.
pub struct StoreObject<T> {
    state: State,
    /// Empty while the database cannot be opened, and after it was given up; the next request opens it.
    store: RefCell<Option<Rc<T>>>,
    /// Whether this instance knows the alarm to be set: from then on each sweep sets the next.
    armed: Cell<bool>,
}

/// A fault of ours. The text is for the log.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the store cannot be opened")]
    Open(#[from] MigrationError),
    #[error("the store failed")]
    Storage(#[from] SqlError),
}

impl<T: Store<DoSql>> StoreObject<T> {
    /// Wakes the object and brings its tables up to date.
    pub fn new(state: State) -> Self {
        let object = Self { state, store: RefCell::new(None), armed: Cell::new(false) };
        // A constructor cannot answer; the first request will, by trying again.
        if let Err(fault) = object.store() {
            console_error!("{fault} when waking");
        }
        object
    }

    /// Answers one request.
    pub async fn fetch(&self, mut request: Request) -> Result<Response> {
        let Some(verb) = T::Verb::of(&request.path()) else { return answer::refuse(404, "not found") };
        let Ok(body) = String::from_utf8(request.bytes().await?) else {
            return answer::refuse(400, "body must be UTF-8");
        };
        // From here to the answer nothing awaits, so no other request of this object comes between.
        match self.answer(verb, &body) {
            Ok(Ok(text)) => {
                if T::is_empty_after(verb) {
                    self.give_up().await;
                } else if T::arms_sweep(verb) && !self.armed.get() {
                    self.arm().await;
                }
                answer::json(200, text)
            }
            Ok(Err(refusal)) => answer::json(refusal.status(), refusal.body()),
            Err(fault) => answer::internal(&fault),
        }
    }

    /// Sweeps, and sets the next alarm even after a sweep that failed: reads hide what it would have deleted, so
    /// the only harm is disk space until the next one.
    pub async fn alarm(&self) -> Result<Response> {
        let swept = self.store().and_then(|store| Ok(store.sweep(now())?));
        if let Some(every) = T::SWEEP_EVERY_MS {
            Alarm::new(&self.state).set(now() + every).await?;
        }
        match swept {
            Ok(deleted) => answer::json(200, format!(r#"{{"deleted":{deleted}}}"#)),
            Err(fault) => answer::internal(&fault),
        }
    }

    fn answer(
        &self,
        verb: T::Verb,
        body: &str,
    ) -> std::result::Result<std::result::Result<String, Refusal>, Fault> {
        match self.store()?.answer(verb, body, now()) {
            Ok(text) => Ok(Ok(text)),
            Err(StoreFailure::Refusal(refusal)) => Ok(Err(refusal)),
            Err(StoreFailure::Fault(fault)) => Err(fault.into()),
        }
    }

    fn store(&self) -> std::result::Result<Rc<T>, Fault> {
        if let Some(store) = &*self.store.borrow() {
            return Ok(Rc::clone(store));
        }
        let store = Rc::new(T::open(DoSql::new(&self.state)?)?);
        Ok(Rc::clone(self.store.borrow_mut().insert(store)))
    }

    /// Sets the alarm unless it is set. What it follows is already durable, so a failure is ours to log and not
    /// the caller's to hear; the next request tries again.
    async fn arm(&self) {
        let Some(every) = T::SWEEP_EVERY_MS else { return };
        let alarm = Alarm::new(&self.state);
        let armed = match alarm.due().await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => alarm.set(now() + every).await,
            Err(error) => Err(error),
        };
        match armed {
            Ok(()) => self.armed.set(true),
            Err(error) => console_error!("fault: the sweep's alarm was not set: {error}"),
        }
    }

    /// Gives up the database of a store that holds nothing, so that the object ceases to exist. What matters is
    /// deleted already; a failure leaves an empty database, which the log tells.
    async fn give_up(&self) {
        self.store.replace(None);
        if let Err(error) = self.state.storage().delete_all().await {
            console_error!("fault: an empty database was not given up: {error}");
        }
    }
}
