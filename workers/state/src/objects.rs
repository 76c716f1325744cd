//! The Durable Object classes that this Worker exports, and each route's namespace.
//!
//! Each class is a newtype around the library's object.

use ars_do_stores::{
    config_store::{self, ConfigStoreObject},
    friction_ledger::{self, FrictionLedgerObject},
    memory_scope::{self, MemoryScopeObject},
    run_store::{self, RunStoreObject},
    run_transcript::{self, RunTranscriptObject},
    schedules::{self, SchedulesObject},
};
use ars_platform::ObjectContext;
use ars_wire::state::Route;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// Returns the namespace with the objects that answer a route.
pub const fn binding(route: Route) -> &'static str {
    match route {
        Route::Runs(_) => run_store::BINDING,
        Route::Transcript(_) => run_transcript::BINDING,
        Route::Memory(_) => memory_scope::BINDING,
        Route::Friction(_) => friction_ledger::BINDING,
        Route::Schedules(_) => schedules::BINDING,
        Route::Config(_) => config_store::BINDING,
    }
}

/// A class that is called by RPC. Its methods are synchronous, so a panic reaches the caller.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $object:ty) => {
        $(#[$doc])*
        #[durable_object(fetch)]
        pub struct $name($object);

        impl DurableObject for $name {
            fn new(state: State, _: Env) -> Self {
                Self(<$object>::new(ObjectContext::from(state).storage()))
            }

            async fn fetch(&self, _: Request) -> Result<Response> {
                Response::error("called by RPC only", 404)
            }
        }

        #[wasm_bindgen]
        impl $name {
            /// Answers a store request.
            pub fn answer(&self, path: &str, body: Vec<u8>) -> JsValue {
                self.0.answer(path, body)
            }

            /// Handles the object's alarm.
            pub fn alarm(&self) -> std::result::Result<(), JsValue> {
                self.0.alarm()
            }
        }
    };
}

object! {
    /// A store's finished and live runs.
    RunStore, RunStoreObject
}
object! {
    /// A live run's transcript.
    RunTranscript, RunTranscriptObject
}
object! {
    /// The memory of a single scope.
    MemoryScope, MemoryScopeObject
}
object! {
    /// A friction ledger's newest diagnoses.
    FrictionLedger, FrictionLedgerObject
}
object! {
    /// Every schedule's newest firings and outcomes.
    Schedules, SchedulesObject
}
object! {
    /// A versioned configuration document.
    ConfigStore, ConfigStoreObject
}
