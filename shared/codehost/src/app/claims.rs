//! The token with which the app authenticates itself: RS256, signed by the shell.

use ars_types::UnixMillis;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;

/// Seconds before now at which the token begins, for clocks that differ.
const SKEW_SECONDS: i64 = 60;
/// Maximum lifetime of the app token in seconds. The host accepts 600.
const MAX_APP_TOKEN_SECONDS: i64 = 540;
/// Milliseconds in a second.
const SECOND: i64 = 1_000;

/// Returns the bytes that the app's key signs.
pub fn signing_input(app_id: &str, now: UnixMillis) -> String {
    let now = now.div_euclid(SECOND);
    let header = json!({ "alg": "RS256", "typ": "JWT" });
    let claims =
        json!({ "iat": now - SKEW_SECONDS, "exp": now + MAX_APP_TOKEN_SECONDS, "iss": app_id });
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(&header), part(&claims))
}

/// Joins the signing input and the signature.
pub fn signed_token(signing_input: &str, signature: &[u8]) -> String {
    format!("{signing_input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_valid_around_now() {
        let input = signing_input("42", 1_700_000_000_999);
        let parts: Vec<String> = input
            .split('.')
            .map(|part| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
            .collect();
        let claims = r#"{"iat":1699999940,"exp":1700000540,"iss":"42"}"#;
        assert_eq!(parts, [r#"{"alg":"RS256","typ":"JWT"}"#, claims]);
        assert_eq!(signed_token("a.b", &[0xfb, 0xff]), "a.b.-_8");
    }
}
