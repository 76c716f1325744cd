//! Answers of the host: their meaning, and whether and when a request is sent again.

mod classify;
mod headers;

pub use classify::{Answer, Meaning, Retry, classify, retry};
pub use headers::Limits;
