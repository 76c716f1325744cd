//! What running a tool can change: decides what may run in parallel and what a resume may run again.
//!
//! Not here: which tool has which effects; each tool declares its own (bot supplement section 15).

/// What running a tool can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// Changes nothing.
    None,
    /// Changes something, but running it twice equals running it once.
    RerunSafe,
    /// Anything else.
    Mutating,
}
