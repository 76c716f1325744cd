//! The state Worker in process: the gate, the stores, and an in-memory database for each object.
//!
//! It lacks only the platform's part: the runtime's HTTP, isolates and alarms. `tests/contract`
//! keeps it equal to the built Worker. Not here: a socket. Tests that need a socket add a server.

use std::collections::{HashMap, hash_map::Entry};

use ars_auth::gate::RotatingSecret;
use ars_friction::records::FrictionStore;
use ars_memory::MemoryStore;
use ars_runs::{RunStore, TranscriptStore};
use ars_schedules::ScheduleStore;
use ars_settings::ConfigStore;
use ars_sql_native::NativeSql;
use ars_store::{
    Store, StoreFailure,
    gate::{Admitted, Head, admit},
    key_of,
};
use ars_types::{StoreKey, UnixMillis};
use ars_wire::{health::StateHealth, state::Route};

/// Body for an internal error (`ars_platform::INTERNAL_BODY`).
const INTERNAL_BODY: &str = r#"{"error":"internal"}"#;

/// Every store in the state Worker, by object name.
pub struct NativeState {
    secret: RotatingSecret,
    runs: Objects<RunStore<NativeSql>>,
    transcripts: Objects<TranscriptStore<NativeSql>>,
    memory: Objects<MemoryStore<NativeSql>>,
    friction: Objects<FrictionStore<NativeSql>>,
    schedules: Objects<ScheduleStore<NativeSql>>,
    config: Objects<ConfigStore<NativeSql>>,
}

impl NativeState {
    /// Returns a Worker without data that accepts this bearer. Without a bearer it serves only its
    /// health.
    pub fn new(token: Option<&str>) -> Self {
        Self::rotating(token, None)
    }

    /// Returns a Worker without data that accepts a former bearer too.
    pub fn rotating(token: Option<&str>, previous: Option<&str>) -> Self {
        Self {
            secret: RotatingSecret::parse(token.map(str::to_owned), previous.map(str::to_owned)),
            runs: Objects::default(),
            transcripts: Objects::default(),
            memory: Objects::default(),
            friction: Objects::default(),
            schedules: Objects::default(),
            config: Objects::default(),
        }
    }

    /// Handles a request like the Worker. Returns status and JSON text.
    pub fn answer(&mut self, head: &Head<'_>, body: &[u8], now: UnixMillis) -> (u16, String) {
        match admit(head, &self.secret) {
            Ok(Admitted::Health) => (200, serde_json::to_string(&StateHealth::up()).unwrap()),
            Ok(Admitted::Call { route, .. }) => match std::str::from_utf8(body) {
                Ok(body) => self.call(route, body, now),
                Err(_) => refuse(400, "body must be UTF-8"),
            },
            Err(rejection) => refuse(rejection.code().http_status(), &rejection.to_string()),
        }
    }

    /// Handles a call that passed the gate.
    pub fn call(&mut self, route: Route, body: &str, now: UnixMillis) -> (u16, String) {
        let name = match key_of(body, route.key()) {
            Ok(name) => name,
            Err(refusal) => return (refusal.status(), refusal.body()),
        };
        match route {
            Route::Runs(verb) => self.runs.answer(name, verb, body, now),
            Route::Transcript(verb) => self.transcripts.answer(name, verb, body, now),
            Route::Friction(verb) => self.friction.answer(name, verb, body, now),
            Route::Schedules(verb) => self.schedules.answer(name, verb, body, now),
            Route::Memory(verb) => self.memory.answer(name, verb, body, now),
            Route::Config(verb) => self.config.answer(name, verb, body, now),
        }
    }
}

/// Stores with the same kind, each with a separate database.
struct Objects<T>(HashMap<StoreKey, T>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Store<NativeSql>> Objects<T> {
    fn answer(
        &mut self,
        name: StoreKey,
        verb: T::Verb,
        body: &str,
        now: UnixMillis,
    ) -> (u16, String) {
        let mut object = match self.0.entry(name) {
            Entry::Occupied(object) => object,
            Entry::Vacant(place) => {
                place.insert_entry(T::open(NativeSql::in_memory().unwrap()).unwrap())
            }
        };
        let answer = object.get_mut().answer(verb, body, now);
        if (answer.is_err() || !T::is_filled_by(verb)) && object.get().is_empty().unwrap() {
            object.remove();
        }
        match answer {
            Ok(text) => (200, text),
            Err(StoreFailure::Refusal(refusal)) => (refusal.status(), refusal.body()),
            Err(StoreFailure::Fault(fault)) => {
                eprintln!("fault: {fault}");
                (500, INTERNAL_BODY.to_owned())
            }
        }
    }
}

fn refuse(status: u16, message: &str) -> (u16, String) {
    (status, serde_json::json!({ "error": message }).to_string())
}

#[cfg(test)]
mod tests {
    use ars_wire::state::{RunVerb, TranscriptVerb};
    use serde_json::json;

    use super::*;

    #[test]
    fn each_name_is_a_separate_store() {
        let mut state = NativeState::new(None);
        let mut call = |verb, run: &str| {
            let body = json!({ "runId": run, "gen": "g", "rows": [], "attachments": [] });
            state
                .call(
                    Route::Transcript(verb),
                    &body.to_string(),
                    1_700_000_000_000,
                )
                .0
        };
        assert_eq!(call(TranscriptVerb::Owner, "a"), 200);
        assert_eq!(call(TranscriptVerb::Write, "a"), 200);
        assert_eq!(call(TranscriptVerb::Write, "b"), 409);
        assert_eq!(call(TranscriptVerb::Owner, "c"), 200);
        assert_eq!(call(TranscriptVerb::Clear, "a"), 200);
        // A rejected request leaves no store behind.
        let left: Vec<_> = state.transcripts.0.keys().map(StoreKey::as_str).collect();
        assert_eq!(left, ["c"]);
    }

    #[test]
    fn gate_rejects_like_the_worker() {
        let mut state = NativeState::new(Some("t"));
        let head = Head {
            method: "POST",
            path: "/runs/get",
            authorization: None,
            content_length: Some("2"),
        };
        assert_eq!(state.answer(&head, b"{}", 0).0, 401);
        let head = Head {
            authorization: Some("Bearer t"),
            ..head
        };
        assert_eq!(state.answer(&head, b"\xff\xff", 0).0, 400);
        assert_eq!(
            state
                .call(Route::Runs(RunVerb::Get), r#"{"storeKey":"s","id":"r"}"#, 0)
                .0,
            200
        );
    }
}
