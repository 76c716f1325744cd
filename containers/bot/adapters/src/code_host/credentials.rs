//! The service's credential on the code host.

use ars_auth::Secret;

use super::key::AppKey;

/// A credential. The bot and the resident's worker each have their own, so either can be replaced
/// alone.
pub enum Credentials {
    /// A GitHub App, for which short-lived tokens for a single repository are minted.
    App {
        /// App id on the host.
        app_id: String,
        /// Id of the app's installation.
        installation: u64,
        /// Private key that signs the app's tokens.
        key: Box<AppKey>,
    },
    /// A plain token, the simple alternative.
    Token(Secret),
}
