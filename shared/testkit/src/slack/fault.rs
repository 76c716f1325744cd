//! Faults on demand.

use std::sync::Arc;

use tokio::sync::Notify;

/// A fault in a single call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429 with this `Retry-After` in seconds, before anything is performed.
    RateLimited(u64),
    /// An answer with this error code, such as `internal_error`; nothing is performed.
    Error(&'static str),
    /// An answer with this HTTP status and a body that is no JSON; nothing is performed.
    Status(u16),
    /// The connection ends before the call is performed.
    DropBefore,
    /// The call is performed, and the connection ends without an answer.
    DropAfter,
    /// The call waits for a permit before it is performed. A client that hangs up cancels it.
    Hang(Arc<Notify>),
    /// The call is performed, and the answer waits for a permit.
    HangAfter(Arc<Notify>),
}

/// A fault that will happen.
#[derive(Debug)]
pub(super) struct Planned {
    /// The method, or `*` for any.
    pub(super) method: String,
    /// Calls of the method that succeed before.
    pub(super) after: usize,
    pub(super) fault: Fault,
}

impl Planned {
    /// Returns whether the fault happens in this call.
    pub(super) fn is_due(&mut self, method: &str) -> bool {
        if self.method != method && self.method != "*" {
            return false;
        }
        let is_due = self.after == 0;
        self.after = self.after.saturating_sub(1);
        is_due
    }
}
