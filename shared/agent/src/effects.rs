//! Tool effects, which decide whether calls run in parallel and whether a resume repeats them.
//!
//! Not here: each tool's effects, which the tool declares.

/// How a tool call changes the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// Changes nothing, so calls can run in parallel.
    None,
    /// Changes something, but running it twice equals running it once.
    RerunSafe,
    /// Any other change; a second run may differ from the first.
    Mutating,
}
