//! GitHub behind the code host port.
//!
//! `client` writes requests and reads responses; `transport` sends them with the credential for the
//! repository in the path, bounded, and again after passing faults. `wire` requires only fields
//! that enterprise versions have too. Not here: decisions about responses and tokens
//! (`ars-codehost`).

mod account;
mod answer;
mod call;
mod checks;
mod client;
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
mod tokens;
mod transport;
mod wire;

pub use account::{GitHub, GitHubSettings};
pub use credentials::Credentials;
pub use key::{AppKey, UnusableKey};
pub use pause::{Pause, TokioPause};
