//! A single git login.

use ars_bot_ports::code_host::GitCredential;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::HeaderValue;

/// Git user and password at a code host. Without a password, the user is a token. It has no
/// `Debug`, so no log line contains it.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Login {
    /// Returns the login for a code host credential.
    pub(crate) fn from_credential(credential: &GitCredential) -> Self {
        let password = credential.password.expose().to_owned();
        Self {
            user: credential.user.to_owned(),
            password,
        }
    }

    /// Returns the `Authorization` value, or `None` for text that no header can contain.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let pair = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}
