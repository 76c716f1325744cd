//! The dashboard: run pages and streams, residents, schedules, outcomes, and the session of a viewer.
//!
//! docs/reference/runs.md#routes lists the statuses. Each page has a folder, `shell` has what the
//! pages share, and `routes` lists them behind the gate. Not here: which runs a viewer may read
//! (`ars_bot_core::queries`).

mod absent;
mod docs;
mod gate;
mod metrics;
mod outcomes;
mod residents;
mod routes;
mod run;
mod runs;
mod schedules;
mod session;
mod shell;

pub(crate) use absent::elsewhere;
pub(crate) use routes::routes;
pub(crate) use shell::pages_for_browsers;
