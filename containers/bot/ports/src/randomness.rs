//! Where run ids and capability tokens come from: the operating system, unless a simulation is to replay exactly.

use std::sync::Arc;

/// A source of random bytes. Cheap to clone; by default the operating system's.
#[derive(Clone)]
pub struct Randomness(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), getrandom::Error> + Send + Sync;

impl Randomness {
    /// A source of the caller's. What it gives becomes tokens that open runs, so it must not be guessable where anybody
    /// could use one.
    pub fn of(fill: impl Fn(&mut [u8]) -> Result<(), getrandom::Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// So many random bytes; fails only when the operating system has none to give.
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
