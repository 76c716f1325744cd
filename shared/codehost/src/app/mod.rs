//! GitHub App credentials: the signed token, the cache for installation tokens.

mod claims;
mod private_key;
mod tokens;

pub use claims::{signed_token, signing_input};
pub use private_key::pkcs8_of_pem;
pub use tokens::{InstallationToken, TokenCache};
