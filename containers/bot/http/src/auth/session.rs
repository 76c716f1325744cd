//! People's sessions in mode `token`: a signed cookie in place of the secret.
//!
//! A cookie is `<expiry>.<HMAC>` under the secret, so the process stores no session and changing
//! the secret ends all.

use ars_auth::Secret;
use ars_types::UnixMillis;
use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use axum::http::{HeaderMap, header};

/// Session lifetime: 12 hours.
const SESSION_MAX_AGE_MS: UnixMillis = 43_200_000;
/// The cookie.
///
/// It is `SameSite=Lax`, so that a link in a message or an issue opens a page. Writes check the origin.
const COOKIE: &str = "ars_session";
/// Separates this use of the secret from any other.
const PURPOSE: &str = "ars dashboard session";

/// Returns the `Set-Cookie` value for a new session.
pub(crate) fn set_cookie(secret: &Secret, actor: &str, now: UnixMillis, is_https: bool) -> String {
    let value = signed(secret, actor, now.saturating_add(SESSION_MAX_AGE_MS));
    let secure = if is_https { "; Secure" } else { "" };
    format!(
        "{COOKIE}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
        SESSION_MAX_AGE_MS / 1_000
    )
}

/// Returns the `Set-Cookie` value that ends a session in the browser.
pub(crate) fn end_cookie() -> String {
    format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
}

/// Returns whether a request carries a current session's cookie.
pub(crate) fn has_session(
    headers: &HeaderMap,
    secret: &Secret,
    actor: &str,
    now: UnixMillis,
) -> bool {
    let texts = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.any(|(name, value)| name == COOKIE && is_current(value, secret, actor, now))
}

fn is_current(value: &str, secret: &Secret, actor: &str, now: UnixMillis) -> bool {
    let expires = value
        .split_once('.')
        .and_then(|(expires, _)| expires.parse::<UnixMillis>().ok());
    expires.is_some_and(|expires| {
        // An expiry beyond the session lifetime was issued by a clock that has been set back since.
        (now..=now.saturating_add(SESSION_MAX_AGE_MS)).contains(&expires)
            && verify_slices_are_equal(value.as_bytes(), signed(secret, actor, expires).as_bytes())
                .is_ok()
    })
}

fn signed(secret: &Secret, actor: &str, expires: UnixMillis) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let tag = hmac::sign(&key, format!("{PURPOSE}\n{actor}\n{expires}").as_bytes());
    format!("{expires}.{}", hex::encode(tag))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const NOW: UnixMillis = 1_760_000_000_000;

    fn secret(text: &str) -> Secret {
        Secret::parse(Some(text.into())).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        pairs
            .iter()
            .map(|(name, text)| (HeaderName::from_static(name), value(text)))
            .collect()
    }

    fn accepts(cookie: &str, text: &str, actor: &str, now: UnixMillis) -> bool {
        has_session(&headers(&[("cookie", cookie)]), &secret(text), actor, now)
    }

    #[test]
    fn session_lasts_twelve_hours_for_its_actor() {
        let set = set_cookie(&secret("look"), "access:ops", NOW, false);
        let (cookie, attributes) = set.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=43200; HttpOnly; SameSite=Lax");
        assert!(!cookie.contains("look"));
        let last = NOW + SESSION_MAX_AGE_MS;
        assert!(accepts(cookie, "look", "access:ops", NOW));
        assert!(accepts(
            &format!("a=b; {cookie};c"),
            "look",
            "access:ops",
            last
        ));
        for (cookie, text, actor, now) in [
            (cookie, "look", "access:ops", last + 1),
            (cookie, "look", "access:ops", NOW - 1),
            (cookie, "other", "access:ops", NOW),
            (cookie, "look", "access:ann", NOW),
            (
                &cookie.replace("ars_session", "session"),
                "look",
                "access:ops",
                NOW,
            ),
            (
                &cookie.replace(&last.to_string(), &(last - 1).to_string()),
                "look",
                "access:ops",
                NOW,
            ),
            (&format!("{cookie}0"), "look", "access:ops", NOW),
            ("ars_session=look", "look", "access:ops", NOW),
            ("ars_session=", "look", "access:ops", NOW),
            ("ars_session=.", "look", "access:ops", NOW),
        ] {
            assert!(
                !accepts(cookie, text, actor, now),
                "{cookie} {text} {actor} {now}"
            );
        }
    }

    #[test]
    fn https_makes_the_cookie_secure() {
        assert!(
            set_cookie(&secret("look"), "access:ops", NOW, true)
                .ends_with("; SameSite=Lax; Secure")
        );
    }
}
