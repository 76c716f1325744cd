//! What the stores behind the state Worker share: how they are asked, how they read bodies, and how they refuse.
//!
//! A [`Store`] takes a request's JSON text and gives the answer's, so its shell is the same in a Durable Object and
//! in the bot, and a hot request crosses the wasm boundary once each way. Implements the parts of state-worker
//! supplement section 1 that concern bodies (1.3, 1.5). Not here: SQL, routes, any one store's rules.
#![forbid(unsafe_code)]

pub mod json;
pub mod request;
pub mod split;

mod key;
mod refusal;
mod store;

pub use key::key_of;
pub use refusal::{Refusal, StoreFailure};
pub use store::Store;
