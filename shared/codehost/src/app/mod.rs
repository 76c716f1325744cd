//! Credentials of a GitHub App: the signed token, the cache of installation tokens, the file for git.

mod claims;
mod credential_file;
mod private_key;
mod tokens;

pub use claims::{signed_token, signing_input};
pub use credential_file::{CredentialFile, Renewal, renewal};
pub use private_key::pkcs8_of_pem;
pub use tokens::{InstallationToken, TokenCache};
