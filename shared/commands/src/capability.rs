//! The parts of an installation that a command may need.

/// A part of an installation that may be off, which removes its commands from every surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// Memory across runs.
    Memory,
    /// Schedules that fire, and the record of their firings.
    Schedules,
    /// A code host, on which the service posts.
    CodeHost,
    /// Residents: repository environments that are kept warm.
    Residents,
    /// Abridged reading diffs of reviews.
    Abridger,
}
