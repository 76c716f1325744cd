//! The public web behind the core's `Web` port: guarded fetches and Brave's search.
//!
//! Not here: how an answer is shown to the model (`ars-bot-tools`). Implements bot supplement section 15.
//!
//! A URL is believed in nothing. Its scheme, host name and literal address are checked in `target` before the request
//! and again for every redirect; a name's addresses are checked in `resolver` by the very lookup the connection uses,
//! so a name cannot answer one address to the check and another to the connection. Bodies are read, unpacked and
//! converted under fixed bounds of bytes and time.

mod address;
mod body;
mod client;
mod fetch;
mod html;
mod resolver;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod text;

pub use client::{PublicWeb, SetupError};
pub use search::BraveSearch;
