//! The number of requests that wait for a container to start.
//!
//! Each one keeps a connection and its state in the memory of the one object that all callers share. Not here: the wait
//! itself (`durable-objects/platform`).

use std::cell::Cell;

/// Requests that wait for the container. Further ones are refused until it has started.
pub const MAX_HELD: u32 = 256;

/// Counts held requests.
#[derive(Debug, Default)]
pub struct HeldRequests(Cell<u32>);

/// The place of one held request, which dropping it frees.
#[derive(Debug)]
pub struct Place<'h>(&'h Cell<u32>);

impl HeldRequests {
    /// Returns a place, or `None` if [`MAX_HELD`] requests wait already.
    pub fn hold(&self) -> Option<Place<'_>> {
        let held = self.0.get();
        (held < MAX_HELD).then(|| {
            self.0.set(held + 1);
            Place(&self.0)
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
        let mut places: Vec<_> = (0..MAX_HELD).map(|_| held.hold().expect("a place")).collect();
        assert!(held.hold().is_none());
        places.pop();
        let last = held.hold();
        assert!(last.is_some() && held.hold().is_none());
    }
}
