//! The part of the bot's gates that the edge checks: method, tokens and bearer.
//!
//! A rejected caller therefore neither wakes the object nor starts a container. Not here: scopes
//! and bodies, which the bot checks after it repeated these checks, because its configuration
//! contains the grants.

use ars_auth::{
    Surface, TokenMap, bearer,
    gate::{self, Head, Rules, order},
};
use ars_container::Answer;

/// Returns a request's rejection, or `None` if it passes or its path has no bearer.
///
/// `tokens` is the `SERVICE_INGRESS_TOKENS` value that the bot's container receives too.
pub fn refusal(
    path: &str,
    method: &str,
    authorization: Option<&str>,
    tokens: Option<&str>,
) -> Option<Answer> {
    let surface = Surface::of_path(path)?;
    let tokens = TokenMap::parse(tokens).map;
    let head = Head {
        method,
        presented: bearer(authorization),
        content_length: None,
    };
    gate::admit(&Rules::new(order::EDGE, &tokens), &head)
        .err()
        .map(|rejection| surface.rejected(rejection).into())
}

/// Returns whether a path has a bearer that the edge checks.
pub fn has_bearer(path: &str) -> bool {
    Surface::of_path(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = r#"{"good":{"subject":"ann"},"weak":{"subject":"bo","scopes":[]}}"#;

    #[test]
    fn first_failing_check_answers() {
        for path in [
            "/ingress",
            "/mcp",
            "/admin/crash",
            "/admin/restart",
            "/admin/restart/authorize",
        ] {
            for (method, authorization, tokens, status) in [
                ("GET", None, None, 405),
                ("HEAD", Some("Bearer good"), Some(TOKENS), 405),
                ("POST", Some("Bearer good"), None, 503),
                ("POST", Some("Bearer good"), Some("[]"), 503),
                ("POST", None, Some(TOKENS), 401),
                ("POST", Some("Bearer goo"), Some(TOKENS), 401),
                ("POST", Some("Basic good"), Some(TOKENS), 401),
                ("POST", Some("Bearer good, Bearer weak"), Some(TOKENS), 401),
            ] {
                let answer = refusal(path, method, authorization, tokens).expect("a refusal");
                assert_eq!(answer.status, status, "{path} {method} {authorization:?}");
                assert_eq!(
                    answer.header.is_some(),
                    [401, 405].contains(&status),
                    "{answer:?}"
                );
            }
            assert!(has_bearer(path));
            // The scope is the bot's to check.
            for bearer in ["Bearer good", "bearer  weak"] {
                assert_eq!(
                    refusal(path, "POST", Some(bearer), Some(TOKENS)),
                    None,
                    "{path}"
                );
            }
        }
    }

    #[test]
    fn other_paths_pass() {
        for path in [
            "/",
            "/runs",
            "/healthz",
            "/api/runs.list",
            "/ingress/",
            "/admin/other",
        ] {
            assert_eq!(refusal(path, "GET", None, None), None, "{path}");
            assert!(!has_bearer(path), "{path}");
        }
    }
}
