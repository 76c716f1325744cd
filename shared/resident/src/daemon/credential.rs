//! Secrets on their way to the daemon.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret in a request. Its debug text hides it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the code that uses it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

/// A code host credential. It reaches git in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCredential {
    /// Scheme and host, such as `https://github.com`. The credential is offered to no other host.
    pub origin: String,
    /// User name for git.
    pub username: String,
    /// Password or token for git.
    pub password: SecretText,
}
