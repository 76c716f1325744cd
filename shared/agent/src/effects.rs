//! The effects of a tool, which decide whether calls run in parallel and whether a resume repeats them.
//!
//! Not here: the effects of each tool, which the tool declares.

/// The effects of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// Changes nothing.
    None,
    /// Changes something, but running it twice equals running it once.
    RerunSafe,
    /// Anything else.
    Mutating,
}
