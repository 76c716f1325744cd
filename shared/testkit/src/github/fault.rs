//! Faults on demand.

/// Where a request waits until its client hangs up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// Before it is performed.
    Before,
    /// Behind the effect, and before the response.
    After,
}

/// A fault in a single request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 401, as for a token that was revoked.
    Unauthorized,
    /// 403 without requests left, until this time in seconds since the epoch.
    RateLimited(u64),
    /// 403 from a secondary limit, with `retry-after` in seconds.
    SecondaryLimited(u64),
    /// 200 from GraphQL with an error about the primary limit, until this time in seconds since the
    /// epoch.
    GraphRateLimited(u64),
    /// 200 from GraphQL with an error about a secondary limit, and `retry-after` in seconds.
    GraphSecondaryLimited(u64),
    /// The GraphQL operation is performed, and a limit is reported beside the data.
    GraphPartial,
    /// 404 for an item that exists but is hidden.
    Hidden,
    /// 403 for a missing permission.
    Forbidden,
    /// 422 for a comment on a line outside the diff.
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
    /// 301 to the same path on this port at `localhost`.
    Moved(u16),
}
