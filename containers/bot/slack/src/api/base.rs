//! The address of the Web API, and which other addresses the answers may name.

use reqwest::Url;

/// The Web API's default address.
pub const DEFAULT_API_BASE: &str = "https://slack.com/api";

/// The Web API's address: `https://`, or `http://` on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiBase(Url);

impl ApiBase {
    /// Parses an address. The error names the expected form.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "must be an https:// URL, or an http:// URL of this machine (127.0.0.1, [::1], localhost)";
        let mut url = Url::parse(text.trim()).map_err(|_| EXPECTED)?;
        let is_plain = url.query().is_none() && url.fragment().is_none();
        let has_login = !url.username().is_empty() || url.password().is_some();
        let is_allowed = match url.scheme() {
            "https" => url.host_str().is_some(),
            "http" => is_loopback(&url),
            _ => false,
        };
        if !is_allowed || !is_plain || has_login {
            return Err(EXPECTED);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns a method's address.
    pub fn method(&self, name: &str) -> String {
        format!("{}/{name}", self.0.as_str().trim_end_matches('/'))
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the address to which a socket upgrades, or `None` if it is less safe than the API.
    pub fn socket(&self, named: &str) -> Option<Url> {
        let rest = |scheme: &str| named.strip_prefix(scheme);
        let url = match (rest("wss://"), rest("ws://")) {
            (Some(rest), _) => format!("https://{rest}"),
            (None, Some(rest)) => format!("http://{rest}"),
            (None, None) => return None,
        };
        let url = Url::parse(&url).ok()?;
        self.trusts(&url).then_some(url)
    }

    /// Returns whether an address from an answer is at least as safe as the API's own.
    pub fn trusts(&self, url: &Url) -> bool {
        match url.scheme() {
            "https" => true,
            "http" => self.0.scheme() == "http" && is_loopback(url),
            _ => false,
        }
    }
}

impl Default for ApiBase {
    fn default() -> Self {
        match Self::parse(DEFAULT_API_BASE) {
            Ok(base) => base,
            Err(_) => unreachable!("the default address is valid"),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_go_without_tls() {
        for valid in [
            DEFAULT_API_BASE,
            "https://chat.example/api/",
            "http://127.0.0.1:8080/api",
            "http://[::1]:1/api",
            "http://localhost:1",
        ] {
            assert!(ApiBase::parse(valid).is_ok(), "{valid}");
        }
        for invalid in [
            "",
            "slack.com",
            "http://slack.com/api",
            "http://127.0.0.1.example/api",
            "ftp://127.0.0.1",
            "https://me:pw@slack.com/api",
            "https://slack.com/api?x=1",
        ] {
            assert!(ApiBase::parse(invalid).is_err(), "{invalid}");
        }
        let base = ApiBase::parse("https://chat.example/api/").unwrap();
        assert_eq!(
            base.method("auth.test"),
            "https://chat.example/api/auth.test"
        );
    }

    #[test]
    fn socket_is_as_safe_as_the_api() {
        let (real, local) = (
            ApiBase::default(),
            ApiBase::parse("http://127.0.0.1:1/api").unwrap(),
        );
        let named = |base: &ApiBase, url: &str| base.socket(url).map(|url| url.to_string());
        assert_eq!(
            named(&real, "wss://wss.slack.com/link/?ticket=1"),
            Some("https://wss.slack.com/link/?ticket=1".to_owned())
        );
        assert_eq!(
            named(&local, "ws://127.0.0.1:2/link"),
            Some("http://127.0.0.1:2/link".to_owned())
        );
        for (base, url) in [
            (&real, "ws://wss.slack.com/link"),
            (&real, "ws://127.0.0.1:2/link"),
            (&local, "ws://10.0.0.1/link"),
            (&local, "https://a/"),
        ] {
            assert_eq!(named(base, url), None, "{url}");
        }
    }
}
