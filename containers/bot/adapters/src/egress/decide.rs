//! Decides about a single destination.

use ars_bot_ports::RefusedHost;
use reqwest::Url;

use super::rule::{Host, HostRule, normalized};

/// The setting that a reader can change.
const SETTING: &str = "sandbox.egress.allow";
/// The setting for pushes.
const PUSH_SETTING: &str = "sandbox.egress.push";

/// A request's protocol, which has a usual port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `CONNECT`, used for TLS.
    Tunnel,
    /// A request in absolute form.
    Plain,
}

impl Protocol {
    /// Returns the scheme in such addresses.
    pub(super) const fn scheme(self) -> &'static str {
        match self {
            Self::Tunnel => "https",
            Self::Plain => "http",
        }
    }

    const fn usual_port(self) -> u16 {
        match self {
            Self::Tunnel => 443,
            Self::Plain => 80,
        }
    }
}

/// The addresses that an allowed host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses {
    /// Public addresses only.
    Public,
    /// All but metadata services, for a configured entry with a port.
    AlsoPrivate,
}

/// Why a destination is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The host is on no list.
    Host(String),
    /// The host is on a list, but not with this port.
    Port(String, u16),
    /// The destination is an address.
    Address(String),
    /// The host has an address that is not public.
    NotPublic(String, u16),
    /// The host has a metadata service's address.
    Metadata(String),
    /// The agent may not push to the run's repository.
    Push { repository: String, agent: String },
    /// A push changes a ref that is not a service branch.
    Ref(String),
    /// A push deletes a branch.
    Deletion(String),
    /// The run sent or received too much.
    Bytes,
}

/// A destination that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) addresses: Addresses,
}

/// Decides about a destination. Returns `None` for text that is no host.
pub(super) fn decide(
    rules: &[HostRule],
    protocol: Protocol,
    host: &str,
    port: u16,
) -> Option<Result<Destination, Refused>> {
    let name = match normalized(host)? {
        Host::Name(name) => name,
        Host::Address => return Some(Err(Refused::Address(host.to_owned()))),
    };
    let of_host: Vec<_> = rules.iter().filter(|rule| rule.names(&name)).collect();
    let is_usual = port == protocol.usual_port();
    let allowed =
        |rule: &&&HostRule| rule.port() == Some(port) || (is_usual && rule.port().is_none());
    let mut allowing = of_host.iter().filter(allowed).peekable();
    let addresses = if allowing.peek().is_some() {
        if allowing.any(|rule| rule.may_be_private()) {
            Addresses::AlsoPrivate
        } else {
            Addresses::Public
        }
    } else if of_host.is_empty() {
        return Some(Err(Refused::Host(name)));
    } else {
        return Some(Err(Refused::Port(name, port)));
    };
    Some(Ok(Destination {
        host: name,
        port,
        addresses,
    }))
}

/// Returns whether a list contains a URL's host and port.
pub(crate) fn is_listed(rules: &[HostRule], url: &Url) -> bool {
    let protocol = if url.scheme() == "https" {
        Protocol::Tunnel
    } else {
        Protocol::Plain
    };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return false;
    };
    matches!(decide(rules, protocol, host, port), Some(Ok(_)))
}

impl Refused {
    /// Returns the refusal as a reader sees it.
    pub(super) fn report(&self) -> RefusedHost {
        if let Self::Push { repository, agent } = self {
            return RefusedHost {
                host: format!("a push to {repository}"),
                reason: "this agent may not push to it".into(),
                setting: Some(format!("{PUSH_SETTING}.\"{repository}\" = [\"{agent}\"]")),
            };
        }
        let (host, reason, allowed_by) = match self {
            Self::Host(host) => (
                host.clone(),
                "it is not on the list of allowed hosts",
                Some(host.clone()),
            ),
            Self::Port(host, port) => {
                let entry = format!("{host}:{port}");
                (entry.clone(), "this port is not allowed", Some(entry))
            }
            Self::Address(text) => (
                text.clone(),
                "addresses are never allowed, only names",
                None,
            ),
            Self::NotPublic(host, port) => {
                let entry = format!("{host}:{port}");
                (host.clone(), "its address is not public", Some(entry))
            }
            Self::Metadata(host) => (host.clone(), "its address is never allowed", None),
            Self::Ref(name) => (
                format!("a push to {name}"),
                "agents push to branches `ars/<run id>/…` only",
                None,
            ),
            Self::Deletion(name) => (
                format!("a deletion of {name}"),
                "agents delete no branches",
                None,
            ),
            Self::Push { .. } | Self::Bytes => (
                "all hosts".into(),
                "the run transferred the maximum number of bytes",
                None,
            ),
        };
        let setting = allowed_by.map(|entry| format!("{SETTING} = [\"{entry}\"]"));
        RefusedHost {
            host,
            reason: reason.into(),
            setting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(protocol: Protocol, host: &str, port: u16) -> Option<Result<Addresses, Refused>> {
        let rules = ["registry.example", "*.cdn.example", "git.example:8443"];
        let mut rules: Vec<_> = rules
            .iter()
            .map(|text| HostRule::parse(text).unwrap())
            .collect();
        rules.push(HostRule::of_public_port("origin.example".into(), 3000));
        decide(&rules, protocol, host, port).map(|decided| decided.map(|allowed| allowed.addresses))
    }

    #[test]
    fn destinations_are_decided() {
        use Protocol::{Plain, Tunnel};
        let other = |host: &str| Some(Err(Refused::Host(host.into())));
        let port = |host: &str, port| Some(Err(Refused::Port(host.into(), port)));
        for (protocol, host, number, expected) in [
            (Tunnel, "registry.example", 443, Some(Ok(Addresses::Public))),
            (
                Tunnel,
                "REGISTRY.example.",
                443,
                Some(Ok(Addresses::Public)),
            ),
            (Tunnel, "a.cdn.example", 443, Some(Ok(Addresses::Public))),
            (
                Tunnel,
                "git.example",
                8443,
                Some(Ok(Addresses::AlsoPrivate)),
            ),
            (Plain, "origin.example", 3000, Some(Ok(Addresses::Public))),
            (Plain, "registry.example", 80, Some(Ok(Addresses::Public))),
            (Tunnel, "registry.example", 80, port("registry.example", 80)),
            (Tunnel, "registry.example", 22, port("registry.example", 22)),
            (
                Plain,
                "registry.example",
                443,
                port("registry.example", 443),
            ),
            (Tunnel, "git.example", 443, port("git.example", 443)),
            (Tunnel, "cdn.example", 443, other("cdn.example")),
            (
                Tunnel,
                "registry.example.org",
                443,
                other("registry.example.org"),
            ),
            (
                Tunnel,
                "evil-registry.example",
                443,
                other("evil-registry.example"),
            ),
            (Tunnel, "registry.example/@x", 443, None),
            (Tunnel, "x@registry.example", 443, None),
            (Tunnel, "", 443, None),
        ] {
            assert_eq!(decided(protocol, host, number), expected, "{host}:{number}");
        }
    }

    #[test]
    fn addresses_are_refused_in_every_spelling() {
        for host in [
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "017700000001",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "8.8.8.8",
        ] {
            let expected = Some(Err(Refused::Address(host.into())));
            assert_eq!(decided(Protocol::Tunnel, host, 443), expected, "{host}");
        }
    }

    #[test]
    fn report_names_the_setting() {
        let text = Refused::Port("git.example".into(), 22).report().to_string();
        let setting = "sandbox.egress.allow = [\"git.example:22\"] allows it";
        assert!(
            text.contains("git.example:22") && text.contains(setting),
            "{text}"
        );
        assert_eq!(Refused::Address("10.0.0.1".into()).report().setting, None);
    }
}
