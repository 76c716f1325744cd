//! The service's proxy chain. Not the commands' egress proxy (`egress`), which uses it.
//!
//! The composition root reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` once. Clones,
//! fetches and pushes, the commands' egress proxy and the web tools follow the same rules as the
//! model clients.

use std::{ffi::OsString, fmt};

use hyper::{Uri, header::HeaderValue};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;

/// Proxy variables for `https` addresses; the first that is set counts.
const HTTPS: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Those for `http` addresses.
const HTTP: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
/// Those with the hosts that are reached directly.
const NO: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The service's proxies. The default has none.
pub struct UpstreamProxy {
    /// The `https` address, with the login.
    https: String,
    /// The `http` address, with the login.
    http: String,
    /// The hosts that are reached directly.
    no: String,
    matcher: Matcher,
}

/// The proxy in front of a destination.
#[derive(Debug, Clone)]
pub(crate) struct Via {
    /// The proxy address, without the login.
    pub(crate) uri: Uri,
    /// The header with the proxy's login.
    pub(crate) authorization: Option<HeaderValue>,
}

impl UpstreamProxy {
    /// Reads the service's variables. A value that is no address is ignored with a warning.
    pub fn from_service(own: impl Fn(&str) -> Option<OsString>) -> Self {
        let first = |names: &[&str]| {
            let text = |name: &&str| {
                own(name)?
                    .into_string()
                    .ok()
                    .filter(|value| !value.trim().is_empty())
            };
            names.iter().find_map(text).unwrap_or_default()
        };
        let (https, http, no) = (first(&HTTPS), first(&HTTP), first(&NO));
        let upstream = Self::new(https, http, no);
        for (address, scheme, name) in [
            (&upstream.https, "https", HTTPS[0]),
            (&upstream.http, "http", HTTP[0]),
        ] {
            if !address.is_empty() && upstream.any_of(scheme).is_none() {
                tracing::warn!(
                    variable = name,
                    "this is no address of a proxy, such as http://proxy.example:3128, and is ignored"
                );
            }
        }
        upstream
    }

    fn new(https: String, http: String, no: String) -> Self {
        let [https, http] = [https, http].map(|address| without_path(&address).to_owned());
        let matcher = Matcher::builder().https(&https).http(&http).no(&no).build();
        Self {
            https,
            http,
            no,
            matcher,
        }
    }

    /// Returns the proxy in front of a destination, or `None` if it is reached directly.
    pub(crate) fn proxy_of(&self, scheme: &str, host: &str, port: u16) -> Option<Via> {
        let found = self.intercept(&format!("{scheme}://{host}:{port}/"))?;
        Some(Via {
            uri: found.uri().clone(),
            authorization: found.basic_auth().cloned(),
        })
    }

    /// Returns the address, with login, of the proxy in front of a URL.
    pub(crate) fn address_of(&self, url: &Url) -> Option<Url> {
        let found = self.intercept(url.as_str())?;
        let address = if url.scheme() == "https" {
            &self.https
        } else {
            &self.http
        };
        // Without a scheme it is an HTTP proxy.
        let address = if address.contains("://") {
            address.clone()
        } else {
            format!("http://{address}")
        };
        Url::parse(&address)
            .ok()
            .or_else(|| Url::parse(&found.uri().to_string()).ok())
    }

    /// Returns whether a name belongs to a proxy.
    pub(crate) fn is_proxy(&self, host: &str) -> bool {
        let own = ["https", "http"].map(|scheme| self.any_of(scheme));
        own.iter().flatten().any(|via| {
            via.uri
                .host()
                .is_some_and(|own| own.eq_ignore_ascii_case(host))
        })
    }

    /// Returns a scheme's proxy, whatever the destination.
    fn any_of(&self, scheme: &str) -> Option<Via> {
        let all = Self::new(self.https.clone(), self.http.clone(), String::new());
        all.proxy_of(scheme, "host.invalid", 1)
    }

    /// Returns the variables for the service's git. Commands never receive them, because a login
    /// may be in them.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("https_proxy", &self.https),
            ("http_proxy", &self.http),
            ("no_proxy", &self.no),
        ];
        all.into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.clone()))
            .collect()
    }

    fn intercept(&self, address: &str) -> Option<Intercept> {
        self.matcher.intercept(&address.parse().ok()?)
    }
}

impl Default for UpstreamProxy {
    fn default() -> Self {
        Self::new(String::new(), String::new(), String::new())
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The addresses may have a login.
        f.debug_struct("UpstreamProxy")
            .field("no", &self.no)
            .finish_non_exhaustive()
    }
}

/// Returns a proxy address without a path, which git rejects and other clients ignore.
fn without_path(address: &str) -> &str {
    let address = address.trim();
    let start = address.find("://").map_or(0, |at| at + 3);
    let end = address[start..]
        .find('/')
        .map_or(address.len(), |at| start + at);
    &address[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(variables: &[(&str, &str)]) -> UpstreamProxy {
        UpstreamProxy::from_service(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn each_destination_has_its_proxy() {
        let upstream = chain(&[
            ("HTTPS_PROXY", "http://u:p%40@secure.example:3128/path"),
            ("all_proxy", "plain.example:8080/"),
            ("NO_PROXY", "direct.example, 10.0.0.0/8"),
        ]);
        let via = |scheme, host| {
            upstream
                .proxy_of(scheme, host, 443)
                .map(|via| (via.uri.to_string(), via.authorization))
        };
        let (uri, login) = via("https", "git.example").unwrap();
        assert_eq!(
            (uri.as_str(), login.unwrap().to_str().unwrap()),
            ("http://secure.example:3128/", "Basic dTpwQA==")
        );
        assert_eq!(
            via("http", "git.example"),
            Some(("http://plain.example:8080/".into(), None))
        );
        for direct in ["direct.example", "a.direct.example", "10.1.2.3"] {
            assert_eq!(via("https", direct), None, "{direct}");
        }
        let address = |url: &str| {
            upstream
                .address_of(&Url::parse(url).unwrap())
                .map(String::from)
        };
        assert_eq!(
            address("https://git.example/a").as_deref(),
            Some("http://u:p%40@secure.example:3128/")
        );
        assert_eq!(
            address("http://git.example/a").as_deref(),
            Some("http://plain.example:8080/")
        );
        assert_eq!(address("https://direct.example/a"), None);
        let of_git = |name| {
            upstream
                .variables()
                .into_iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value)
        };
        assert_eq!(
            of_git("https_proxy").as_deref(),
            Some("http://u:p%40@secure.example:3128")
        );
        assert_eq!(of_git("http_proxy").as_deref(), Some("plain.example:8080"));
        assert!(!format!("{upstream:?}").contains("p%40"));
    }

    #[test]
    fn malformed_and_missing_addresses_are_no_proxies() {
        for upstream in [
            UpstreamProxy::default(),
            chain(&[("HTTPS_PROXY", "ftp://x"), ("http_proxy", " ")]),
        ] {
            assert!(upstream.proxy_of("https", "git.example", 443).is_none());
        }
        assert_eq!(UpstreamProxy::default().variables(), []);
    }
}
