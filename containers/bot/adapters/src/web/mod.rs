//! The public web behind the core's `Web` port: guarded fetches and Brave's search.
//!
//! A URL is not trusted. `target` checks scheme, host name and literal address before the request
//! and again for every redirect. `resolver` checks a name's addresses in the same lookup that the
//! connection uses, so a name cannot give different addresses to the check and the connection.
//! Bodies are read, decompressed and converted within byte and time limits. `policy` has the hosts
//! that a run reaches. Not here: how the model sees a response (`ars-bot-tools`).

mod address;
mod body;
mod certificates;
mod client;
mod failure;
mod fetch;
mod html;
mod pages;
mod policy;
mod resolver;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod text;

pub use crate::error::WebSetupError;
pub use certificates::TeamCertificates;
pub use client::PublicWeb;
pub use policy::{WebHosts, WebPolicy};
pub use search::BraveSearch;

pub(crate) use address::{is_metadata, is_public};
pub(crate) use client::{client, proxied};
pub(crate) use resolver::{Lookup, SystemLookup, checked_addresses, may_be_proxied};
pub(crate) use target::is_local_name;
