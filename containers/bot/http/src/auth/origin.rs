//! The origin of a page: scheme, host and port, and what this service's own origins are.
//!
//! Not here: which origins a surface accepts.

use axum::http::{HeaderMap, Uri, header};

/// Scheme, host and port of an `http` or `https` URL, in lower case and with the default port written out.
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

    /// Returns whether it equals the `Host` header. Behind a proxy that header has no known scheme, so this one's is
    /// used.
    pub(crate) fn is_of_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let own = host.and_then(|host| Self::parse(&format!("{}://{host}", self.scheme)));
        own.is_some_and(|own| own == *self)
    }

    /// Parses the origin of a URL.
    fn parse_url(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let has_port = authority.as_str().len() > authority.host().len();
        let port = if has_port { authority.port_u16()? } else { default_port };
        Some(Self { scheme, host: authority.host().to_ascii_lowercase(), port })
    }
}
