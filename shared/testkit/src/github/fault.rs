//! Faults on demand.

/// Where a request waits until its client hangs up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// Before it is performed.
    Before,
    /// Behind its effect, and before its answer.
    After,
}

/// A fault of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 401, as for a token that was revoked.
    Unauthorized,
    /// 403 without requests left, until this time in seconds since the epoch.
    RateLimited(u64),
    /// 403 of a secondary limit, with `retry-after` in seconds.
    SecondaryLimited(u64),
    /// 404 for an item that exists but is hidden.
    Hidden,
    /// 403 for a missing permission.
    Forbidden,
    /// 502 before anything is performed.
    Unavailable,
    /// The request is performed, and the answer is 502.
    LostAnswer,
    /// The request is performed, and the connection ends within the body.
    Truncated,
    /// 200 with a body that is no JSON.
    Garbled,
    /// 301 to the same path on this port of `localhost`.
    Moved(u16),
}
