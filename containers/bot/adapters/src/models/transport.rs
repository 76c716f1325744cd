//! The HTTP client that every vendor shares, with timeouts, and parsed base URLs.

use std::time::Duration;

use reqwest::{Client, Url, redirect::Policy};

use super::RetryPolicy;
use crate::error::EndpointError;

/// Timeout for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a provider may be silent. Local servers send nothing while they read a long prompt. The
/// run's own time budget ends a call that takes too long.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Timeouts and retries for model calls.
#[derive(Debug, Clone, Copy)]
pub struct Transport {
    /// Timeout for a connection.
    pub connect_timeout: Duration,
    /// Longest silence that is tolerated.
    pub idle_timeout: Duration,
    /// When and how calls are retried.
    pub retry: RetryPolicy,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            retry: RetryPolicy::default(),
        }
    }
}

impl Transport {
    /// Makes the shared client, which follows no redirect, because that would carry the key elsewhere.
    pub fn client(&self) -> Result<Client, reqwest::Error> {
        Client::builder()
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.idle_timeout)
            .redirect(Policy::none())
            .user_agent(concat!("ars/", env!("CARGO_PKG_VERSION")))
            .build()
    }
}

/// A provider's base URL: http or https, without credentials, query, fragment and trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Parses a configured base URL.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| EndpointError)?;
        let plain = matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if plain && url.has_host() {
            Ok(Self(url))
        } else {
            Err(EndpointError)
        }
    }

    /// Returns the host, which is safe to show.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the URL without a trailing slash.
    pub(super) fn base(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Returns whether the URL has no path.
    pub(super) fn is_bare(&self) -> bool {
        self.0.path() == "/"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_http_without_extras() {
        for good in [
            "http://localhost:11434",
            "https://api.example.com/v1/",
            " https://h/x \n",
        ] {
            assert!(Endpoint::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "localhost:8000",
            "ftp://h",
            "https://u:p@h",
            "https://h/?a=b",
            "https://h/#x",
            "file:///x",
        ] {
            assert_eq!(Endpoint::parse(bad), Err(EndpointError), "{bad}");
        }
        let endpoint = Endpoint::parse("http://localhost:11434/").unwrap();
        assert_eq!(
            (endpoint.host().as_str(), endpoint.base()),
            ("localhost:11434", "http://localhost:11434")
        );
    }
}
