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

use ars_sql::{MigrationError, SqlError};
use ars_store::{Store, StoreFailure};
use ars_wire::state::Verb;
use js_sys::{
    Promise,
    futures::{JsFuture, spawn_local},
};
use wasm_bindgen::JsValue;
use worker::console_error;

use crate::{Alarm, DoSql, Response, Storage, answer, clock::now, raw::describe, request::path_of};

/// A store as a Durable Object; a Worker wraps it in the class it exports.
pub struct StoreObject<T> {
    storage: Storage,
    /// Empty while the database cannot be opened, and after it was given up; the next request opens it.
    store: Option<T>,
    /// Whether this instance has seen to the alarm: from then on each sweep sets the next.
    armed: bool,
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
        let mut object = Self { storage, store: None, armed: false };
        // A constructor cannot answer; the first request will, by trying again.
        if let Err(fault) = object.store() {
            console_error!("{fault} when waking");
        }
        object
    }

    /// Answers one request. Nothing awaits in here, so no other request of this object comes between.
    pub fn answer(&mut self, url: &str, body: Vec<u8>) -> Response {
        let Some(verb) = T::Verb::of(path_of(url)) else { return answer::refuse(404, "not found") };
        let Ok(body) = String::from_utf8(body) else { return answer::refuse(400, "body must be UTF-8") };
        match self.store().map(|store| store.answer(verb, &body, now())) {
            Ok(Ok(text)) => {
                self.follow_up(verb);
                answer::text(text)
            }
            Ok(Err(StoreFailure::Refusal(refusal))) => answer::json(refusal.status(), &refusal.body()),
            Ok(Err(StoreFailure::Fault(fault))) => answer::internal(&Fault::Storage(fault)),
            Err(fault) => answer::internal(&fault),
        }
    }

    /// Sweeps, and sets the next alarm even after a sweep that failed: reads hide what it would have deleted, so
    /// the only harm is disk space until the next one. Throws when the alarm cannot be set.
    pub fn alarm(&mut self) -> Result<(), JsValue> {
        if let Err(fault) = self.store().and_then(|store| Ok(store.sweep(now())?)) {
            answer::internal(&fault);
        }
        match T::SWEEP_EVERY_MS {
            Some(every) => Alarm::new(self.storage.clone()).set(now() + every).map(drop),
            None => Ok(()),
        }
    }

    fn store(&mut self) -> Result<&T, Fault> {
        let store = match self.store.take() {
            Some(store) => store,
            None => T::open(DoSql::new(self.storage.clone()))?,
        };
        Ok(self.store.insert(store))
    }

    /// What a success leaves to be done. It is durable already, so a failure here is ours to log and not the
    /// caller's to hear; the next request, or the next instance, tries again.
    fn follow_up(&mut self, verb: T::Verb) {
        if T::is_empty_after(verb) {
            // The object ceases to exist with its database.
            self.store = None;
            watch("an empty database was not given up", self.storage.delete_all());
        } else if let Some(every) = T::SWEEP_EVERY_MS.filter(|_| !self.armed && T::arms_sweep(verb)) {
            self.armed = true;
            let alarm = Alarm::new(self.storage.clone());
            spawn_local(async move {
                if let Err(thrown) = alarm.set_if_unset(now() + every).await {
                    console_error!("fault: the sweep's alarm was not set: {}", describe(&thrown));
                }
            });
        }
    }
}

/// Logs what becomes of a promise that nobody waits for.
fn watch(what: &'static str, promised: Result<Promise, JsValue>) {
    spawn_local(async move {
        let done = match promised {
            Ok(promise) => JsFuture::from(promise).await.map(drop),
            Err(thrown) => Err(thrown),
        };
        if let Err(thrown) = done {
            console_error!("fault: {what}: {}", describe(&thrown));
        }
    });
}
