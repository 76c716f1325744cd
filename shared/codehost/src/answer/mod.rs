//! The host's responses: their meaning, and whether and when a request is sent again.

mod classify;
mod graph;
mod headers;

pub use classify::{Answer, Attempts, Meaning, Retry, classify, retry};
pub use graph::{GraphError, classify_graph};
pub use headers::Limits;
