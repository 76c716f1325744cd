//! Every state Worker store on files in the data directory, with the same requests and responses.
//!
//! A single file has runs, transcripts, friction ledgers, schedules and configuration documents,
//! each on its own connection; every row belongs to a single key. Memory has a file for each scope
//! (`scopes`).

use std::path::Path;

use ars_bot_ports::StoreError;
use ars_friction::records::FrictionStore;
use ars_runs::{RunStore, TranscriptStore};
use ars_schedules::ScheduleStore;
use ars_settings::ConfigStore;
use ars_sql_native::NativeSql;
use ars_store::{Store, StoreFailure, key_of};
use ars_types::UnixMillis;
use ars_wire::state::Route;

use super::{
    super::{
        failure::{chain, permanent},
        transport::StoreResponse,
    },
    scopes::Scopes,
};

/// The file for all stores but memory.
const FILE: &str = "store.sqlite3";
/// The state Worker's answer to an internal fault.
const INTERNAL_BODY: &str = r#"{"error":"internal"}"#;

/// Stores that are open.
pub(super) struct Stores {
    runs: RunStore<NativeSql>,
    transcripts: TranscriptStore<NativeSql>,
    friction: FrictionStore<NativeSql>,
    schedules: ScheduleStore<NativeSql>,
    config: ConfigStore<NativeSql>,
    memory: Scopes,
}

impl Stores {
    pub(super) fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let file = data_dir.join(FILE);
        Ok(Self {
            runs: open(&file)?,
            transcripts: open(&file)?,
            friction: open(&file)?,
            schedules: open(&file)?,
            config: open(&file)?,
            memory: Scopes::within(data_dir),
        })
    }

    pub(super) fn answer(&mut self, route: Route, body: &str, now: UnixMillis) -> StoreResponse {
        match self.try_answer(route, body, now) {
            Ok(text) => StoreResponse { status: 200, text },
            Err(StoreFailure::Refusal(refusal)) => StoreResponse {
                status: refusal.status(),
                text: refusal.body(),
            },
            Err(StoreFailure::Fault(fault)) => {
                tracing::error!(route = route.path(), error = %fault, "store failed");
                StoreResponse {
                    status: 500,
                    text: INTERNAL_BODY.to_owned(),
                }
            }
        }
    }

    fn try_answer(
        &mut self,
        route: Route,
        body: &str,
        now: UnixMillis,
    ) -> Result<String, StoreFailure> {
        let key = key_of(body, route.key())?;
        match route {
            Route::Memory(verb) => self.memory.scope(&key, verb)?.answer(verb, body, now),
            Route::Friction(verb) => self.friction.answer(verb, body, now),
            Route::Schedules(verb) => self.schedules.answer(verb, body, now),
            Route::Config(verb) => self.config.answer(verb, body, now),
            Route::Runs(verb) => self.runs.answer(verb, body, now),
            Route::Transcript(verb) => self.transcripts.answer(verb, body, now),
        }
    }

    /// Sweeps; returns `true` when more rows may be left.
    pub(super) fn sweep(&mut self, now: UnixMillis) -> bool {
        let has_more_memory = self.memory.sweep(now);
        let has_more_runs = match self.runs.sweep(now) {
            Ok(removed) => {
                tracing::debug!(removed, "run history swept");
                removed >= RunStore::<NativeSql>::SWEEP_AT_MOST
            }
            Err(error) => {
                tracing::error!(error = %error, "run history not swept");
                false
            }
        };
        let has_more_transcripts = self.sweep_transcripts(now);
        has_more_memory || has_more_runs || has_more_transcripts
    }

    fn sweep_transcripts(&self, now: UnixMillis) -> bool {
        match self.transcripts.sweep(now) {
            Ok(removed) => removed >= TranscriptStore::<NativeSql>::SWEEP_AT_MOST,
            Err(error) => {
                tracing::error!(error = %error, "transcripts not swept");
                false
            }
        }
    }
}

fn open<T: Store<NativeSql>>(file: &Path) -> Result<T, StoreError> {
    let sql = NativeSql::open(file).map_err(|error| permanent(error.to_string()))?;
    T::open(sql).map_err(|error| permanent(chain(&error)))
}
