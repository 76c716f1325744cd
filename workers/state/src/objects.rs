//! The Durable Object classes this Worker exports, each a newtype around its library's object, and which of them
//! keeps what a route asks for. `entry.js` makes them the runtime's.

use ars_do_stores::{
    config_store::{self, ConfigStoreObject},
    friction_ledger::{self, FrictionLedgerObject},
    memory_scope::{self, MemoryScopeObject},
    run_store::{self, RunStoreObject},
    run_transcript::{self, RunTranscriptObject},
    schedules::{self, SchedulesObject},
};
use ars_platform::Storage;
use ars_wire::state::Route;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// The namespace of the objects that answer a route.
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

/// A class as `runtime.js` expects it.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $object:ty) => {
        $(#[$doc])*
        #[wasm_bindgen]
        pub struct $name($object);

        #[wasm_bindgen]
        impl $name {
            /// Wakes the object.
            #[wasm_bindgen(constructor)]
            pub fn new(storage: Storage) -> Self {
                Self(<$object>::new(storage))
            }

            /// Answers one request, or gives the pieces of an answer.
            pub fn answer(&mut self, url: &str, body: Vec<u8>) -> JsValue {
                self.0.answer(url, body)
            }

            /// The alarm rang.
            pub fn alarm(&mut self) -> Result<(), JsValue> {
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
