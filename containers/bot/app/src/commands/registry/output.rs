//! The output of one invocation, wherever it ran. Not here: printing it (`command.rs`).

/// The output of a command.
pub(super) struct Output {
    /// JSON in one line.
    pub(super) json: String,
    /// Text for people.
    pub(super) text: String,
}
