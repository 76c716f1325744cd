//! Faults in calls to the host, for testing state machines.

use proptest::prelude::*;

/// How a single call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// The call succeeds as usual.
    None,
    /// The host does not receive it.
    LostRequest,
    /// The host performs it, and the answer is lost.
    LostAnswer,
    /// The process ends before it.
    CrashBefore,
    /// The process ends after the host performed it.
    CrashAfter,
}

/// Generates faults for the first calls.
pub(crate) fn faults(most: usize) -> impl Strategy<Value = Vec<Fault>> {
    let all = vec![
        Fault::None,
        Fault::LostRequest,
        Fault::LostAnswer,
        Fault::CrashBefore,
        Fault::CrashAfter,
    ];
    prop::collection::vec(prop::sample::select(all), 0..most)
}
