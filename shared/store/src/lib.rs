//! Common parts for the state Worker's stores: interface, request parsing and refusals.
//!
//! A [`Store`] maps a request's JSON text to the response text, so its shell is the same in a
//! Durable Object and in the bot, and a hot request crosses the wasm boundary once each way. The
//! shell asks [`gate`] first. Not here: SQL, routes, individual stores' rules.
#![forbid(unsafe_code)]

pub mod alarms;
pub mod gate;
pub mod json;
pub mod request;
pub mod split;

mod error;
mod json_list_answer;
mod key;
mod list;
mod store;

pub use error::{Refusal, StoreFailure};
pub use json_list_answer::JsonListAnswer;
pub use key::key_of;
pub use list::{add_list, add_texts};
pub use store::Store;
