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

use std::{cell::Cell, rc::Rc};

use ars_sql::{MigrationError, SqlError};
use ars_store::{Store, StoreFailure};
use ars_wire::state::Verb;
use js_sys::futures::{JsFuture, spawn_local};
use wasm_bindgen::JsValue;
use worker::console_error;

use crate::{Alarm, DoSql, Storage, answer, clock::now, raw::describe, request::path_of};

/// Until the next sweep, when one had more to delete than it may at once.
const SOON_MS: i64 = 1000;

/// A store as a Durable Object; a Worker wraps it in the class it exports.
pub struct StoreObject<T> {
    storage: Storage,
    /// Empty while the database cannot be opened, and after it was given up; the next request opens it.
    store: Option<T>,
    /// Whether this instance knows the alarm to be set: from then on each sweep sets the next.
    armed: Rc<Cell<bool>>,
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
    pub fn new(storage: Storage) -> Self {
        let mut object = Self { storage, store: None, armed: Rc::default() };
        // A constructor cannot answer; the first request will, by trying again.
        if let Err(fault) = object.store() {
            console_error!("{fault} when waking");
        }
        object
    }

    /// Answers one request, with an answer or with the pieces of one (`runtime.js`). Nothing awaits in here, so no other
    /// request of this object comes between.
    pub fn answer(&mut self, url: &str, body: Vec<u8>) -> JsValue {
        let Some(verb) = T::Verb::of(path_of(url)) else { return answer::refuse(404, "not found").into() };
        let Ok(body) = String::from_utf8(body) else {
            return answer::refuse(400, "body must be UTF-8").into();
        };
        match self.store().map(|store| store.answer(verb, &body, now())) {
            Ok(Ok(text)) => {
                if !T::is_filled_by(verb) {
                    self.give_up_if_empty();
                }
                self.arm(verb);
                answer::text(text)
            }
            Ok(Err(StoreFailure::Refusal(refusal))) => {
                self.give_up_if_empty();
                answer::json(refusal.status(), &refusal.body()).into()
            }
            Ok(Err(StoreFailure::Fault(fault))) => answer::internal(&Fault::Storage(fault)).into(),
            Err(fault) => answer::internal(&fault).into(),
        }
    }

    /// Sweeps, and sets the next alarm even after a sweep that failed: reads hide what it would have deleted, so
    /// the only harm is disk space until the next one. Throws when the alarm cannot be set.
    pub fn alarm(&mut self) -> Result<(), JsValue> {
        let Some(every) = T::SWEEP_EVERY_MS else { return Ok(()) };
        let next = match self.store().and_then(|store| Ok(store.sweep(now())?)) {
            Ok(deleted) if deleted >= T::SWEEP_AT_MOST => SOON_MS,
            Ok(_) => every,
            Err(fault) => {
                answer::internal(&fault);
                every
            }
        };
        Alarm::new(self.storage.clone()).set(now() + next).map(drop)
    }

    fn store(&mut self) -> Result<&T, Fault> {
        let store = match self.store.take() {
            Some(store) => store,
            None => T::open(DoSql::new(self.storage.clone()))?,
        };
        Ok(self.store.insert(store))
    }

    /// Sets the alarm after a request that may leave something for the sweep, unless it is set. What it follows is
    /// durable already, so a failure is ours to log and not the caller's to hear; the next such request tries again.
    fn arm(&mut self, verb: T::Verb) {
        let Some(every) = T::SWEEP_EVERY_MS.filter(|_| !self.armed.get() && T::arms_sweep(verb)) else {
            return;
        };
        let (alarm, armed) = (Alarm::new(self.storage.clone()), Rc::clone(&self.armed));
        spawn_local(async move {
            match alarm.set_if_unset(now() + every).await {
                Ok(()) => armed.set(true),
                Err(thrown) => {
                    console_error!("fault: the sweep's alarm was not set: {}", describe(&thrown));
                }
            }
        });
    }

    /// Gives up the database of a store that holds nothing: the object ceases to exist, as if nobody had asked.
    fn give_up_if_empty(&mut self) {
        if !self.store.as_ref().is_some_and(|store| store.is_empty().unwrap_or(false)) {
            return;
        }
        self.store = None;
        let given_up = self.storage.delete_all();
        spawn_local(async move {
            let done = match given_up {
                Ok(promise) => JsFuture::from(promise).await.map(drop),
                Err(thrown) => Err(thrown),
            };
            if let Err(thrown) = done {
                console_error!("fault: an empty database was not given up: {}", describe(&thrown));
            }
        });
    }
}
