//! The body of a mint: one repository, and the permissions that the use of the token needs.
//!
//! Not here: the request to the code host and the cache of tokens (`durable-objects/resident`).

use ars_types::RepoSlug;
use serde_json::{Value, json};

use crate::TokenUse;

/// Returns the body of a mint for one repository, with no more permissions than the use needs.
///
/// The commands of a thread can read the token of its tree. The service pushes from the mirror, so no other use writes.
pub fn mint_body(repository: &RepoSlug, usage: TokenUse) -> Value {
    let contents = match usage {
        TokenUse::Fetch | TokenUse::Tree => "read",
        TokenUse::Push => "write",
    };
    let name = repository.as_str().rsplit('/').next().unwrap_or_default();
    json!({ "repositories": [name], "permissions": { "metadata": "read", "contents": contents } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pushes_may_write() {
        let repository = RepoSlug::parse("acme/app").unwrap();
        for (usage, contents) in [
            (TokenUse::Fetch, "read"),
            (TokenUse::Tree, "read"),
            (TokenUse::Push, "write"),
        ] {
            let permissions = json!({ "metadata": "read", "contents": contents });
            let expected = json!({ "repositories": ["app"], "permissions": permissions });
            assert_eq!(mint_body(&repository, usage), expected, "{usage:?}");
        }
    }
}
