//! How many requests wait for a container to start.
//!
//! Each keeps a connection and its state in the memory of the single object that all callers share.
//! Callers without a checked bearer have a separate bound, so that they cannot fill the others'
//! places. Not here: the wait itself (`durable-objects/platform`).

use std::cell::Cell;

/// Requests with a checked bearer that wait for the container. Further requests are refused until
/// it has started.
pub const MAX_HELD: u32 = 256;
/// Requests without a checked bearer that wait for the container.
pub const MAX_HELD_ANONYMOUS: u32 = 64;

/// Whether a request's bearer was checked before it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// It was, and it is valid.
    Known,
    /// The request may be anyone's.
    Anonymous,
}

/// Counts the requests that are held.
#[derive(Debug, Default)]
pub struct HeldRequests {
    known: Cell<u32>,
    anonymous: Cell<u32>,
}

/// A held request's place, which dropping it frees.
#[derive(Debug)]
pub struct Place<'h>(&'h Cell<u32>);

impl HeldRequests {
    /// Returns a place, or `None` if as many requests from such callers wait already.
    pub fn hold(&self, caller: Caller) -> Option<Place<'_>> {
        let (count, limit) = match caller {
            Caller::Known => (&self.known, MAX_HELD),
            Caller::Anonymous => (&self.anonymous, MAX_HELD_ANONYMOUS),
        };
        let held = count.get();
        (held < limit).then(|| {
            count.set(held + 1);
            Place(count)
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_freed() {
        let held = HeldRequests::default();
        let fill = |caller, limit| {
            let mut places: Vec<_> = (0..limit)
                .map(|_| held.hold(caller).expect("a place"))
                .collect();
            assert!(held.hold(caller).is_none());
            places.pop();
            places.push(held.hold(caller).expect("the freed place"));
            assert!(held.hold(caller).is_none());
            places
        };
        let anonymous = fill(Caller::Anonymous, MAX_HELD_ANONYMOUS);
        let known = fill(Caller::Known, MAX_HELD);
        drop((anonymous, known));
    }
}
