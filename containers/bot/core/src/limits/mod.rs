//! Limits on requests and live runs, and the count that a drain waits for.

mod file_memory;
mod in_flight;
pub mod load_limits;
mod slots;

pub(crate) use file_memory::{FileMemory, FilePermit};
pub(crate) use in_flight::{InFlight, InFlightCount};
pub(crate) use slots::{Place, Progress, RunSlot, Slot, Slots};
