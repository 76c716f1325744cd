//! The store.

/// Finished and live runs in a single SQLite database.
pub struct RunStore<S> {
    pub(super) sql: S,
    /// SQL for the visible form of `record`, see `item`.
    pub(super) item: String,
    /// The same with `bytes`, for lists.
    pub(super) listed: String,
    /// The same without the diagnosis.
    pub(super) brief: String,
    /// Statement for a get.
    pub(super) get: String,
}

impl<S> RunStore<S> {
    /// Returns the database, for other data stored in it.
    pub fn sql(&self) -> &S {
        &self.sql
    }
}
