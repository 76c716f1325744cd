//! A store as a Durable Object: a single shell for all stores.
//!
//! - **Invariants:** all state lies in SQLite, so the object may be evicted or its isolate lost at
//!   any line. The tables are migrated when the store opens. A store that sweeps has a named alarm
//!   after every successful request that arms it, and after every sweep. An empty store's database
//!   is deleted, alarms included.
//! - **Routes:** the paths for the store's verbs, called by RPC with a JSON body: the store's
//!   answer, 400 or 409 with its refusal, 500 with a fixed body for a fault, 404 for an unknown
//!   path. The Worker has checked method, bearer and length.
//! - **Atomicity:** an operation is a single synchronous span in which the object's other code does
//!   not run. A panic in it drops the open store, and the next request opens it again.
//!
//! Not here: the stores' operations, the exported classes.

use std::cell::Cell;

use ars_sql::SqlError;
use ars_store::{Store, StoreFailure};
use ars_wire::state::Verb;
use js_sys::futures::{JsFuture, spawn_local};
use wasm_bindgen::JsValue;
use worker::console_error;

use crate::{
    DoSql, INTERNAL_BODY, Storage,
    alarm::{fire_alarms, named_alarms},
    answer::{log_fault, refusal_body, reply, reply_with},
    clock::now,
    error::Fault,
    raw::describe,
};

/// The sweep alarm's name.
const SWEEP: &str = "sweep";
/// Milliseconds until the next sweep, when a sweep deleted as much as it may at once.
const SOON_MS: i64 = 1000;

/// A store as a Durable Object; a Worker wraps it in the class it exports.
pub struct StoreObject<T> {
    storage: Storage,
    /// Empty while an operation has the store, and until the next request opens it.
    store: Cell<Option<T>>,
    /// Whether this instance knows the alarm to be set: from then on each sweep sets the next.
    armed: Cell<bool>,
}

impl<T: Store<DoSql>> StoreObject<T> {
    /// Returns an object that opens the store at the first request.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            store: Cell::new(None),
            armed: Cell::new(false),
        }
    }

    /// Answers a request in the form that `call_store` decodes.
    pub fn answer(&self, path: &str, body: Vec<u8>) -> JsValue {
        let Some(verb) = T::Verb::from_path(path) else {
            return reply_with(404, &refusal_body("not found"));
        };
        let Ok(body) = String::from_utf8(body) else {
            return reply_with(400, &refusal_body("body must be UTF-8"));
        };
        let store = match self.open() {
            Ok(store) => store,
            Err(fault) => return internal(&fault),
        };
        match store.answer(verb, &body, now()) {
            Ok(text) => {
                let arms_sweep = !self.armed.get() && store.arms_sweep(verb);
                let is_kept = if T::is_filled_by(verb) {
                    self.store.set(Some(store));
                    true
                } else {
                    self.keep_unless_empty(store)
                };
                // An alarm would make a database again for a store without data.
                if arms_sweep && is_kept {
                    self.arm();
                }
                reply(text)
            }
            Err(StoreFailure::Refusal(refusal)) => {
                self.keep_unless_empty(store);
                reply_with(refusal.status(), &refusal.body())
            }
            Err(StoreFailure::Fault(fault)) => {
                self.store.set(Some(store));
                internal(&Fault::Storage(fault))
            }
        }
    }

    /// Handles the alarm: sweeps when due, and sets the next alarm. Reads hide expired rows, so a
    /// failed sweep costs only disk space until it is repeated.
    ///
    /// # Errors
    /// The alarms cannot be read or set. The platform then repeats this alarm.
    pub fn alarm(&self) -> Result<(), JsValue> {
        let Some(every) = T::SWEEP_EVERY_MS else {
            return Ok(());
        };
        // Earlier versions set the platform's alarm without a name.
        self.set_sweep_unless_set(now())
            .and_then(|()| fire_alarms(self.storage.clone(), |_| self.sweep_and_rearm(every)))
            .map_err(|error| JsValue::from(error.to_string()))?;
        // A sweep may have deleted the last row.
        if let Some(store) = self.store.take() {
            self.keep_unless_empty(store);
        }
        Ok(())
    }

    fn sweep_and_rearm(&self, every: i64) -> Result<(), Fault> {
        let next = if self.sweep()? >= T::SWEEP_AT_MOST {
            SOON_MS
        } else {
            every
        };
        Ok(named_alarms(self.storage.clone())?.set(SWEEP, now() + next)?)
    }

    fn sweep(&self) -> Result<i64, Fault> {
        let store = self.open()?;
        let swept = store.sweep(now());
        self.store.set(Some(store));
        Ok(swept?)
    }

    fn open(&self) -> Result<T, Fault> {
        match self.store.take() {
            Some(store) => Ok(store),
            None => Ok(T::open(DoSql::new(self.storage.clone()))?),
        }
    }

    /// Sets the sweep's alarm, unless it is set.
    ///
    /// The request's own writes are durable already, so a failure is logged and the next such request tries again.
    fn arm(&self) {
        let Some(every) = T::SWEEP_EVERY_MS else {
            return;
        };
        match self.set_sweep_unless_set(now() + every) {
            Ok(()) => self.armed.set(true),
            Err(error) => console_error!("fault: the sweep's alarm was not set: {error}"),
        }
    }

    fn set_sweep_unless_set(&self, at_ms: i64) -> Result<(), SqlError> {
        let alarms = named_alarms(self.storage.clone())?;
        if alarms.time_of(SWEEP)?.is_some() {
            Ok(())
        } else {
            alarms.set(SWEEP, at_ms)
        }
    }

    /// Keeps the store open, or deletes an empty store's database: the object then ceases to exist.
    /// Returns whether it was kept.
    fn keep_unless_empty(&self, store: T) -> bool {
        if !store.is_empty().unwrap_or(false) {
            self.store.set(Some(store));
            return true;
        }
        drop(store);
        // The alarms' table is deleted too. The next request that adds rows for a sweep creates it again.
        self.armed.set(false);
        let deleted = self.storage.delete_all();
        spawn_local(async move {
            let done = match deleted {
                Ok(promise) => JsFuture::from(promise).await.map(drop),
                Err(thrown) => Err(thrown),
            };
            if let Err(thrown) = done {
                console_error!(
                    "fault: an empty database was not deleted: {}",
                    describe(&thrown)
                );
            }
        });
        false
    }
}

fn internal(fault: &Fault) -> JsValue {
    log_fault(fault);
    reply_with(500, INTERNAL_BODY)
}
