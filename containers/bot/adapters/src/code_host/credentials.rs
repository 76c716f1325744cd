//! The credential of the service on the code host.

use ars_auth::Secret;

use super::key::AppKey;

/// A credential. The bot and the resident's worker have one each, so that either is replaced alone.
pub enum Credentials {
    /// A GitHub App, for which short-lived tokens of one repository are minted.
    App {
        /// Id of the app.
        app_id: String,
        /// Id of its installation.
        installation: u64,
        /// Private key.
        key: Box<AppKey>,
    },
    /// A plain token, the simple alternative.
    Token(Secret),
}
