//! The schedules that fire in this installation.
//!
//! Not here: their firings (`background`), and listing all (`commands/schedule`).

use ars_schedules::{Action, BOT, SELF_IMPROVEMENT, Schedule};

use super::Deps;

/// Returns whether a schedule fires in this installation.
pub(crate) fn is_on(deps: &Deps, schedule: &Schedule) -> bool {
    let (BOT, Action::Run { identity, .. }) = (schedule.worker, schedule.action) else {
        return true;
    };
    let needs_host = schedule.name == SELF_IMPROVEMENT;
    let has_host =
        deps.capabilities.code_host.is_some() && deps.settings.proposals.repository.is_some();
    deps.settings.grants.contains_key(identity) && (has_host || !needs_host)
}
