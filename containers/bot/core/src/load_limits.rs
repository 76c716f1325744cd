//! The limits of requests and runs (docs/reference/ingress.md#limits).

use ars_types::Platform;

/// Default limit of the requests of a caller in a minute.
const REQUESTS_PER_MINUTE_MAX: u32 = 60;
/// Default limit of the live runs of a caller.
const RUNS_PER_CALLER_MAX: u32 = 8;
/// Default limit of the live runs of a process.
const RUNS_MAX: u32 = 64;
/// Default limit of the runs of a caller that wait for a slot.
const QUEUED_RUNS_PER_CALLER_MAX: u32 = 32;
/// Default limit of the runs of a process that wait for a slot.
const QUEUED_RUNS_MAX: u32 = 256;
/// Default limit of the unread follow-ups of a live run.
const FOLLOW_UPS_MAX: u32 = 50;
/// Default limit of the bytes of these follow-ups.
const FOLLOW_UP_BYTES_MAX: u32 = 262_144;

/// The limits of requests and runs. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// Requests of a caller in a minute.
    pub requests_per_minute: Option<u32>,
    /// Live runs of a caller.
    pub runs_per_caller: Option<u32>,
    /// Live runs.
    pub runs: Option<u32>,
    /// Waiting runs of a caller.
    pub queued_runs_per_caller: Option<u32>,
    /// Waiting runs.
    pub queued_runs: Option<u32>,
    /// Unread follow-ups of a live run.
    pub follow_ups: Option<u32>,
    /// Bytes of these follow-ups.
    pub follow_up_bytes: Option<u32>,
}

impl LoadLimits {
    /// No limits.
    pub const NONE: Self = Self {
        requests_per_minute: None,
        runs_per_caller: None,
        runs: None,
        queued_runs_per_caller: None,
        queued_runs: None,
        follow_ups: None,
        follow_up_bytes: None,
    };
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            requests_per_minute: Some(REQUESTS_PER_MINUTE_MAX),
            runs_per_caller: Some(RUNS_PER_CALLER_MAX),
            runs: Some(RUNS_MAX),
            queued_runs_per_caller: Some(QUEUED_RUNS_PER_CALLER_MAX),
            queued_runs: Some(QUEUED_RUNS_MAX),
            follow_ups: Some(FOLLOW_UPS_MAX),
            follow_up_bytes: Some(FOLLOW_UP_BYTES_MAX),
        }
    }
}

/// Returns the caller that an actor counts as. A token's subject is one caller over HTTP and MCP.
pub fn caller(actor: &str) -> String {
    match Platform::split(actor) {
        Some((platform, name)) => platform.rules().counts_as.unwrap_or(platform).id(name),
        None => actor.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_is_one_caller_on_both_surfaces() {
        assert_eq!(caller("mcp:ann"), caller("http:ann"));
        assert_ne!(caller("mcp:ann"), caller("access:ann"));
        assert_eq!(caller("github:ann"), "github:ann");
        assert_eq!(caller("mcpann"), "mcpann");
    }
}
