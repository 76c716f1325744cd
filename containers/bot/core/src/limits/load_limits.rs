//! Request and run limits (docs/reference/ingress.md#limits).

/// Default limit for a caller's requests in a minute.
const REQUESTS_PER_MINUTE_MAX: u32 = 60;
/// Default limit for a caller's live runs.
const RUNS_PER_CALLER_MAX: u32 = 8;
/// Default limit for a process's live runs.
const RUNS_MAX: u32 = 64;
/// Default limit for a caller's runs that wait for a slot.
const QUEUED_RUNS_PER_CALLER_MAX: u32 = 32;
/// Default limit for a process's runs that wait for a slot.
const QUEUED_RUNS_MAX: u32 = 256;
/// Default limit for a live run's unread follow-ups.
const FOLLOW_UPS_MAX: u32 = 50;
/// Default size limit for these follow-ups in bytes.
const FOLLOW_UP_BYTES_MAX: u32 = 262_144;

/// Request and run limits. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// A caller's requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// Live runs per caller.
    pub runs_per_caller: Option<u32>,
    /// Live runs per process.
    pub runs: Option<u32>,
    /// A caller's runs waiting for a slot.
    pub queued_runs_per_caller: Option<u32>,
    /// A process's runs waiting for a slot.
    pub queued_runs: Option<u32>,
    /// A live run's unread follow-ups.
    pub follow_ups: Option<u32>,
    /// Total bytes of these follow-ups.
    pub follow_up_bytes: Option<u32>,
}

impl LoadLimits {
    /// Limits nothing at all.
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
