//! A page's origin: scheme, host and port, and which origins are this service's own.
//!
//! Not here: which requests a surface checks.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

/// The browser's statement about the page that sent a request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The value for a page with the same scheme, host and port.
const SAME_ORIGIN: &str = "same-origin";

/// Scheme, host and port of an `http` or `https` URL, in lower case and with an explicit port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// Parses an origin, which has neither path nor query.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("://")?;
        if rest.contains(['/', '?', '#']) {
            return None;
        }
        Self::parse_url(text)
    }

    /// Returns whether it is the origin of the service's base URL.
    pub(crate) fn is_of_base(&self, public_base_url: &str) -> bool {
        Self::parse_url(public_base_url.trim()).is_some_and(|own| own == *self)
    }

    /// Returns whether it equals the `Host` header. Behind a proxy that header has no known scheme,
    /// so this origin's scheme is used.
    pub(crate) fn is_of_host(&self, headers: &HeaderMap) -> bool {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let own = host.and_then(|host| Self::parse(&format!("{}://{host}", self.scheme)));
        own.is_some_and(|own| own == *self)
    }

    /// Parses a URL's origin.
    fn parse_url(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'))?;
        let has_port = authority.as_str().len() > authority.host().len();
        let port = if has_port {
            authority.port_u16()?
        } else {
            default_port
        };
        Some(Self {
            scheme,
            host: authority.host().to_ascii_lowercase(),
            port,
        })
    }
}

/// Returns whether a request comes from this service's own pages or from no page.
///
/// Browsers send both headers, and other clients usually none. Without a base URL the `Host` header is the reference.
pub(crate) fn is_own(headers: &HeaderMap, public_base_url: Option<&str>) -> bool {
    let is_same_site = sites(headers).all(|site| site == SAME_ORIGIN || site == "none");
    let base = public_base_url.map(str::trim).filter(|url| !url.is_empty());
    is_same_site
        && origins(headers).all(|origin| {
            origin.is_some_and(|origin| match base {
                Some(base) => origin.is_of_base(base),
                None => origin.is_of_host(headers),
            })
        })
}

/// Returns whether a page on this service sent the request; `false` without a header that shows it.
///
/// This is for a cookie, which a browser adds without the user's part.
pub(crate) fn is_same_origin(headers: &HeaderMap, public_base_url: Option<&str>) -> bool {
    if let Some(site) = sites(headers).next() {
        return site == SAME_ORIGIN;
    }
    let origin = origins(headers).next().flatten();
    origin.is_some_and(|origin| {
        public_base_url.is_some_and(|url| origin.is_of_base(url)) || origin.is_of_host(headers)
    })
}

/// Returns whether a browser withheld a form's origin. It does for pages without a referrer over
/// plain http.
pub(crate) fn is_withheld(headers: &HeaderMap) -> bool {
    sites(headers).next().is_none()
        && headers
            .get(header::ORIGIN)
            .is_some_and(|origin| origin == "null")
}

fn sites(headers: &HeaderMap) -> impl Iterator<Item = &HeaderValue> {
    headers.get_all(SEC_FETCH_SITE).iter()
}

/// Returns each origin, or `None` in place of an invalid origin.
fn origins(headers: &HeaderMap) -> impl Iterator<Item = Option<Origin>> {
    let values = headers.get_all(header::ORIGIN).iter();
    values.map(|origin| origin.to_str().ok().and_then(Origin::parse))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn origin_equals_the_base_url() {
        let base = Some("https://bot.example.com/");
        for origin in [
            "https://bot.example.com",
            "https://bot.example.com:443",
            "HTTPS://Bot.Example.com",
        ] {
            let headers = headers(&[(header::ORIGIN, origin), (header::HOST, "elsewhere")]);
            assert!(is_own(&headers, base), "{origin}");
        }
        for origin in [
            "http://bot.example.com",
            "https://bot.example.com:8443",
            "https://example.com",
            "https://bot.example.com.evil.example",
            "https://bot.example.com/x",
            "https://x@bot.example.com",
            "https://bot.example.com:",
            "null",
            "",
            "bot.example.com",
        ] {
            assert!(
                !is_own(&headers(&[(header::ORIGIN, origin)]), base),
                "{origin}"
            );
        }
        assert!(!is_own(
            &headers(&[(header::ORIGIN, "https://a.example")]),
            Some("no url")
        ));
    }

    #[test]
    fn origin_equals_the_host_without_base_url() {
        for (origin, host, expected) in [
            ("http://localhost:3000", "localhost:3000", true),
            ("https://bot.example.com", "bot.example.com", true),
            ("http://bot.example.com", "bot.example.com:80", true),
            ("http://[::1]:8080", "[::1]:8080", true),
            ("http://localhost:3001", "localhost:3000", false),
            ("http://localhost", "localhost:3000", false),
            ("http://evil.example", "localhost", false),
            ("null", "localhost", false),
        ] {
            let headers = headers(&[(header::ORIGIN, origin), (header::HOST, host)]);
            for base in [None, Some(" ")] {
                assert_eq!(is_own(&headers, base), expected, "{origin} {host}");
            }
        }
        assert!(!is_own(
            &headers(&[(header::ORIGIN, "http://localhost")]),
            None
        ));
    }

    #[test]
    fn other_site_is_not_own() {
        for (site, expected) in [
            (SAME_ORIGIN, true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("", false),
        ] {
            assert_eq!(
                is_own(&headers(&[(SEC_FETCH_SITE, site)]), None),
                expected,
                "{site}"
            );
        }
        assert!(is_own(&HeaderMap::new(), Some("https://bot.example.com")));
        let mut both = headers(&[(header::ORIGIN, "http://a"), (header::HOST, "a")]);
        both.append(header::ORIGIN, HeaderValue::from_static("http://b"));
        assert!(!is_own(&both, None));
    }

    #[test]
    fn own_pages_alone_are_same_origin() {
        let public = Some("https://bot.example.com/base");
        for pairs in [
            &[(SEC_FETCH_SITE, SAME_ORIGIN), (header::ORIGIN, "null")][..],
            &[
                (header::ORIGIN, "https://bot.example.com"),
                (header::HOST, "10.0.0.1:8080"),
            ],
            &[
                (header::ORIGIN, "http://localhost:3000"),
                (header::HOST, "localhost:3000"),
            ],
        ] {
            assert!(is_same_origin(&headers(pairs), public), "{pairs:?}");
        }
        for pairs in [
            &[][..],
            &[
                (SEC_FETCH_SITE, "same-site"),
                (header::ORIGIN, "https://bot.example.com"),
            ],
            &[(SEC_FETCH_SITE, "cross-site")],
            &[(SEC_FETCH_SITE, "none")],
            &[(header::ORIGIN, "null"), (header::HOST, "localhost")],
            &[(header::ORIGIN, "http://bot.example.com")],
            &[
                (header::ORIGIN, "https://evil.example.com"),
                (header::HOST, "bot.example.com"),
            ],
            &[
                (header::ORIGIN, "file://localhost"),
                (header::HOST, "localhost"),
            ],
        ] {
            assert!(!is_same_origin(&headers(pairs), public), "{pairs:?}");
        }
    }
}
