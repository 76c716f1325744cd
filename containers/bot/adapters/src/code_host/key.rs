//! The app's private key, and the tokens that it signs.

use ars_auth::Secret;
use ars_codehost::app::{pkcs8_of_pem, signed_token, signing_input};
use ars_types::UnixMillis;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};

/// The text has no RSA key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the private key must be an RSA key in PEM, as the code host hands it out")]
pub struct UnusableKey;

/// An app's private key, checked once. It never leaves the process.
pub struct AppKey(RsaKeyPair);

impl AppKey {
    /// Parses a PEM key.
    ///
    /// # Errors
    /// Returns [`UnusableKey`] without any part of the text.
    pub fn parse(pem: &Secret) -> Result<Self, UnusableKey> {
        let der = pkcs8_of_pem(pem).ok_or(UnusableKey)?;
        RsaKeyPair::from_pkcs8(&der)
            .map(Self)
            .map_err(|_| UnusableKey)
    }

    /// Returns a token with which the app authenticates itself.
    pub(super) fn token(&self, app_id: &str, now: UnixMillis) -> Option<Secret> {
        let input = signing_input(app_id, now);
        let mut signature = vec![0; self.0.public_modulus_len()];
        let random = SystemRandom::new();
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, input.as_bytes(), &mut signature)
            .ok()?;
        Secret::parse(Some(signed_token(&input, &signature)))
    }
}
