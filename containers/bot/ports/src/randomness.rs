//! The source of run ids and capability tokens: the operating system, or a seed in a simulation.

use std::sync::Arc;

/// A source of random bytes. Cheap to clone; by default the operating system's.
#[derive(Clone)]
pub struct Randomness(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), getrandom::Error> + Send + Sync;

impl Randomness {
    /// A source given by the caller.
    /// Its bytes become tokens that open runs, so they must not be guessable in production.
    pub fn of(
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
        Self::of(getrandom::fill)
    }
}
