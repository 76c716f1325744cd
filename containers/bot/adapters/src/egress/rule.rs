//! A single entry in an allowed host list.

use std::fmt;

use reqwest::Url;

/// Maximum host name length in bytes, as in DNS.
const MAX_HOST_BYTES: usize = 253;

/// An allowed host: `host`, `*.suffix`, or either with a port.
///
/// An entry without a port allows HTTPS on 443 and HTTP on 80, at public addresses. An entry with a
/// port allows only this port, also at private addresses, because it names a service in the
/// installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    name: String,
    with_subdomains: bool,
    port: Option<u16>,
    may_be_private: bool,
}

/// Why an entry is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is no host.
    #[error("must be a host such as `example.com`, `*.example.com` or `example.com:8443`")]
    Shape,
    /// It is an IP address.
    #[error("must be a host name, because addresses are never allowed")]
    Address,
    /// The suffix is a whole top-level domain.
    #[error("must name at least two labels after `*.`")]
    Suffix,
    /// The host has a single label and no port.
    #[error("must name a port, because a host of one label is not public")]
    Local,
}

impl HostRule {
    /// Parses a host entry.
    ///
    /// # Errors
    /// Returns the entry's first fault.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let (with_subdomains, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| RuleError::Shape)?)),
            None => (rest, None),
        };
        let name = match normalized(host) {
            Some(Host::Name(name)) if name == host.to_ascii_lowercase() => name,
            Some(Host::Address) => return Err(RuleError::Address),
            _ => return Err(RuleError::Shape),
        };
        let has_one_label = !name.contains('.');
        match (with_subdomains, port) {
            (_, Some(0)) => Err(RuleError::Shape),
            (true, _) if has_one_label => Err(RuleError::Suffix),
            (false, None) if has_one_label => Err(RuleError::Local),
            _ => Ok(Self {
                name,
                with_subdomains,
                port,
                may_be_private: port.is_some(),
            }),
        }
    }

    /// Returns an entry for a single host port, at public addresses only.
    pub(super) const fn of_public_port(name: String, port: u16) -> Self {
        Self {
            name,
            with_subdomains: false,
            port: Some(port),
            may_be_private: false,
        }
    }

    /// Returns whether the entry is for this host.
    pub(super) fn names(&self, host: &str) -> bool {
        if self.with_subdomains {
            host.strip_suffix(&self.name)
                .is_some_and(|rest| rest.ends_with('.'))
        } else {
            host == self.name
        }
    }

    /// Returns the only allowed port, if the entry sets a port.
    pub(super) const fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns whether the host may have private addresses.
    pub(super) const fn may_be_private(&self) -> bool {
        self.may_be_private
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.with_subdomains { "*." } else { "" };
        write!(f, "{prefix}{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The host that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A name in lower case, without a final dot.
    Name(String),
    /// An address in any spelling.
    Address,
}

/// Returns the host in a single spelling, or `None` for text that is no host. The URL parser
/// recognizes decimal, octal and hexadecimal addresses.
pub(super) fn normalized(host: &str) -> Option<Host> {
    if host.len() > MAX_HOST_BYTES {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let is_whole = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !is_plain || !is_whole {
        return None;
    }
    let parsed = url.host_str()?;
    let bare = parsed.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<std::net::IpAddr>().is_ok() {
        return Some(Host::Address);
    }
    let name = parsed.strip_suffix('.').unwrap_or(parsed);
    // The URL parser accepts more, such as `*`.
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_of_name)).then(|| Host::Name(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_validated() {
        for text in [
            "example.com",
            "*.example.com",
            "example.com:8443",
            "*.example.com:80",
            "localhost:3000",
        ] {
            assert_eq!(
                HostRule::parse(text).map(|rule| rule.to_string()),
                Ok(text.to_owned())
            );
        }
        for (text, error) in [
            ("", RuleError::Shape),
            ("*", RuleError::Shape),
            ("https://example.com", RuleError::Shape),
            ("example.com/path", RuleError::Shape),
            ("user@example.com", RuleError::Shape),
            ("exa mple.com", RuleError::Shape),
            ("a.*.example.com", RuleError::Shape),
            ("example.com:", RuleError::Shape),
            ("example.com:0", RuleError::Shape),
            ("example.com:70000", RuleError::Shape),
            ("127.0.0.1:80", RuleError::Address),
            ("0x7f000001:80", RuleError::Address),
            ("*.com", RuleError::Suffix),
            ("localhost", RuleError::Local),
        ] {
            assert_eq!(HostRule::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn suffix_matches_subdomains_only() {
        let rule = HostRule::parse("*.Example.com").unwrap();
        assert!(rule.names("a.example.com") && rule.names("a.b.example.com"));
        assert!(
            !rule.names("example.com")
                && !rule.names("badexample.com")
                && !rule.names("example.com.org")
        );
        assert!(HostRule::parse("example.com").is_ok_and(|rule| !rule.names("a.example.com")));
    }
}
