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
    /// 200 of GraphQL with an error about the primary limit, until this time in seconds since the epoch.
    GraphRateLimited(u64),
    /// 200 of the GraphQL interface with an error about a secondary limit, and `retry-after` in seconds.
    GraphSecondaryLimited(u64),
    /// The operation of the GraphQL interface is performed, and a limit is reported beside its data.
    GraphPartial,
    /// 404 for an item that exists but is hidden.
    Hidden,
    /// 403 for a missing permission.
    Forbidden,
    /// 422 of a comment on a line outside of the diff.
    AnchorRejected,
    /// 502 before anything is performed.
    Unavailable,
    /// The request is performed, and the answer is 502.
    LostAnswer,
    /// 200 with an empty list, as before the host lists what was just created.
    NotListedYet,
    /// The request is performed, and the connection ends within the body.
    Truncated,
    /// 200 with a body that is no JSON.
    Garbled,
    /// 301 to the same path on this port of `localhost`.
    Moved(u16),
}
