//! Where run ids and capability tokens come from: the operating system, or a simulation's seed.

use std::sync::Arc;

/// Produces random bytes. Cheap to clone; by default the operating system's.
#[derive(Clone)]
pub struct Randomness(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), getrandom::Error> + Send + Sync;

impl Randomness {
    /// Uses the caller's source. The bytes become tokens that open runs, so they must not be
    /// guessable in production.
    pub fn new(
        fill: impl Fn(&mut [u8]) -> Result<(), getrandom::Error> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(fill))
    }

    /// Returns `N` random bytes. Fails only when the operating system's source fails.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], getrandom::Error> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }
}

impl Default for Randomness {
    fn default() -> Self {
        Self::new(getrandom::fill)
    }
}
