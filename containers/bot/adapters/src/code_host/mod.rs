//! GitHub behind the port of the code host.
//!
//! Octocrab builds requests and reads answers; `transport` sends them with the credential of the repository in their
//! path, bounded, and again after passing faults. Its own models are not used: they require fields that enterprise
//! versions leave out. Not here: the decisions about answers and tokens (`ars-codehost`).

mod account;
mod answer;
mod call;
mod checks;
mod credentials;
mod discussion;
mod files;
mod github;
mod key;
mod patches;
mod pause;
mod pull_requests;
mod repositories;
mod reviews;
mod service;
mod tokens;
mod transport;
mod wire;

pub use account::{GitHub, GitHubSettings};
pub use credentials::Credentials;
pub use key::{AppKey, UnusableKey};
pub use pause::{Pause, TokioPause};
