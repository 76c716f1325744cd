//! What the stores behind the state Worker share: how they are asked, how they read bodies, and how they refuse.
//!
//! A [`Store`] takes a request's JSON text and gives the answer's, so its shell is the same in a Durable Object and
//! in the bot, and a hot request crosses the wasm boundary once each way. What stands before a store asks [`gate`]
//! first. Implements state-worker supplement section 1. Not here: SQL, routes, any one store's rules.
#![forbid(unsafe_code)]

pub mod gate;
pub mod json;
pub mod request;
pub mod split;

mod joined;
mod key;
mod list;
mod refusal;
mod store;

pub use joined::Joined;
pub use key::key_of;
pub use list::{add_list, add_texts};
pub use refusal::{Refusal, StoreFailure};
pub use store::Store;
