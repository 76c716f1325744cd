//! A mint's body: a single repository, and the permissions that the token's use needs.
//!
//! Not here: the request to the code host and the token cache (`durable-objects/resident`).

use ars_types::RepoSlug;
use serde_json::{Value, json};

use crate::TokenUse;

/// Returns a mint's body for a single repository, with no more permissions than the use needs.
///
/// A thread's commands can read the tree's token. The service pushes from the mirror, so no other
/// use writes.
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
