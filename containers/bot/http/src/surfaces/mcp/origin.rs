//! The origin of a request that a page sends. Machines send none.

use std::net::{IpAddr, Ipv4Addr};

use ars_auth::dashboard::by_loopback;
use axum::http::{HeaderMap, header};

use crate::auth::Origin;

/// Returns whether another origin's page sent the request.
///
/// An origin is the service's own if it is that of the public base URL, or a name for this machine
/// that equals the `Host` header. Another name in `Host` proves nothing, because any name can
/// resolve to this machine.
pub(super) fn is_foreign(headers: &HeaderMap, public_base_url: Option<&str>) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return false;
    };
    let Ok(text) = origin.to_str() else {
        return true;
    };
    let Some(origin) = Origin::parse(text) else {
        return true;
    };
    let is_own = public_base_url.is_some_and(|url| origin.is_of_base(url));
    let names_this_machine = by_loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), Some(text)).is_ok();
    origins.next().is_some() || !(is_own || (names_this_machine && origin.is_of_host(headers)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn foreign(origins: &[&str], host: &str, url: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        is_foreign(&headers, url)
    }

    #[test]
    fn only_the_own_origin_is_accepted() {
        let public = Some("https://bot.example.com/base/");
        for (origins, host, url) in [
            (&[][..], "localhost:8787", None),
            (&[], "bot.example.com", public),
            (&["http://localhost:8787"], "localhost:8787", None),
            (&["http://127.0.0.1:8787"], "127.0.0.1:8787", public),
            (&["https://bot.example.com"], "bot.example.com", public),
            (&["https://BOT.example.com"], "internal:8787", public),
        ] {
            assert!(!foreign(origins, host, url), "{origins:?} {host} {url:?}");
        }
        for (origins, host, url) in [
            (&["https://evil.example.com"][..], "localhost:8787", None),
            (&["http://evil.example.com"], "evil.example.com", None),
            (&["http://localhost:5173"], "localhost:8787", None),
            (&["http://bot.example.com"], "bot.example.com", public),
            (
                &["https://bot.example.com.evil.example"],
                "bot.example.com",
                public,
            ),
            (
                &["https://bot.example.com", "https://evil.example.com"],
                "bot.example.com",
                public,
            ),
            (&["null"], "localhost:8787", None),
            (&[""], "localhost:8787", Some("")),
        ] {
            assert!(foreign(origins, host, url), "{origins:?} {host} {url:?}");
        }
    }
}
