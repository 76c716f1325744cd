//! The Durable Object classes that this Worker exports, and the namespace of each route.
//! Each class is a newtype around its library's object.

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

/// Returns the namespace of the objects that answer a route.
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
            /// Answers one request.
            pub fn answer(&self, path: &str, body: Vec<u8>) -> JsValue {
                self.0.answer(path, body)
            }

            /// Handles the alarm.
            pub fn alarm(&self) -> std::result::Result<(), JsValue> {
                self.0.alarm()
            }
        }
    };
}

object! {
    /// Finished and live runs of one store.
    RunStore, RunStoreObject
}
object! {
    /// The transcript of one live run.
    RunTranscript, RunTranscriptObject
}
object! {
    /// The memory of one scope.
    MemoryScope, MemoryScopeObject
}
object! {
    /// The newest diagnoses of one friction ledger.
    FrictionLedger, FrictionLedgerObject
}
object! {
    /// What became of every schedule's newest firings.
    Schedules, SchedulesObject
}
object! {
    /// A configuration document.
    ConfigStore, ConfigStoreObject
}
