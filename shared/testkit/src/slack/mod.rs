//! A fake Slack workspace: the Web API as far as the service uses it, files, and Socket Mode.
//!
//! It rejects what Slack rejects: missing scopes, arguments in JSON where Slack reads forms only,
//! texts and blocks over their limits. Official clients check it (`tests/models`). As the rehearsal
//! workspace for `cargo xtask up --slack` it has a page for a person (the example
//! `rehearsal_slack`). Not here: slash commands, views, and calls that only they need.

mod api;
mod arguments;
mod blocks;
mod clock;
mod envelopes;
mod events;
mod fake;
mod fault;
mod files;
mod limits;
mod page;
mod people;
mod received;
mod render;
mod server;
mod shared;
mod shown;
mod socket;
mod state;
#[cfg(test)]
mod tests;
mod watching;

pub use envelopes::{Disconnect, FakeEnvelope};
pub use fake::FakeSlack;
pub use fault::Fault;
pub use people::Upload;
pub use state::{Call, FakeChannel, FakeFile, FakeMessage, FakeReaction, FakeStatus, FakeUser};
