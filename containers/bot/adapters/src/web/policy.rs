//! Hosts that `web_fetch` reaches: all, a list, or none (docs/reference/workspace.md#web).
//!
//! A run with a working tree has files that a repository, a page or an issue may steer it to send.
//! It therefore reaches the commands' hosts, documentation, and those in `web.allow`. Not here:
//! private addresses (`target`, `resolver`).

use ars_bot_ports::{FetchScope, WebError};
use reqwest::Url;

use crate::egress::{DOCUMENTATION, EgressSettings, HostRule, Scope, is_listed};

/// Which hosts are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebHosts {
    /// All public hosts.
    Any,
    /// Hosts in a list.
    Listed,
    /// No host at all.
    None,
}

/// Settings for `web_fetch`.
#[derive(Debug, Clone, Default)]
pub struct WebPolicy {
    /// Commands have no network, so nothing is fetched.
    pub is_offline: bool,
    /// Hosts for every agent. If absent, the list for a run with a working tree, and any host for
    /// others.
    pub hosts: Option<WebHosts>,
    /// More hosts for the list.
    pub allow: Vec<HostRule>,
    /// Hosts that commands reach.
    pub egress: EgressSettings,
}

/// Hosts that a run reaches.
#[derive(Debug)]
pub(super) enum Reach {
    Any,
    Listed(Vec<HostRule>),
}

impl WebPolicy {
    /// Returns a run's hosts.
    pub(super) fn reach(&self, scope: FetchScope<'_>) -> Result<Reach, WebError> {
        let default = if scope.has_tree {
            WebHosts::Listed
        } else {
            WebHosts::Any
        };
        match self.hosts.unwrap_or(default) {
            _ if self.is_offline => Err(WebError::NoNetwork),
            WebHosts::None => Err(WebError::NoHosts),
            WebHosts::Any => Ok(Reach::Any),
            WebHosts::Listed => Ok(Reach::Listed(self.rules(scope))),
        }
    }

    fn rules(&self, scope: FetchScope<'_>) -> Vec<HostRule> {
        let FetchScope {
            agent,
            repository,
            origin,
            ..
        } = scope;
        let mut rules = self.egress.rules(Scope {
            agent: Some(agent),
            repository,
            origin,
        });
        let documentation = DOCUMENTATION.iter().filter(|_| self.egress.registries);
        rules.extend(documentation.filter_map(|host| HostRule::parse(host).ok()));
        rules.extend(self.allow.iter().cloned());
        rules
    }
}

impl Reach {
    /// Checks a URL's host, before the name is resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), WebError> {
        match self {
            Self::Any => Ok(()),
            Self::Listed(rules) if is_listed(rules, url) => Ok(()),
            Self::Listed(_) => Err(WebError::Unlisted(
                url.host_str().unwrap_or_default().to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> WebPolicy {
        let rule = |text: &str| vec![HostRule::parse(text).unwrap()];
        let egress = EgressSettings {
            allow: rule("all.example"),
            repositories: [("acme/app".into(), rule("app.example:8443"))].into(),
            ..EgressSettings::default()
        };
        WebPolicy {
            allow: rule("*.pages.example"),
            egress,
            ..WebPolicy::default()
        }
    }

    fn fetched(policy: &WebPolicy, has_tree: bool, url: &str) -> Result<(), WebError> {
        let origin = Some("https://git.example/acme/app");
        let scope = FetchScope {
            agent: "coding",
            has_tree,
            repository: Some("acme/app"),
            origin,
        };
        policy.reach(scope)?.check(&Url::parse(url).unwrap())
    }

    #[test]
    fn run_with_a_tree_reaches_listed_hosts() {
        for (url, is_reached) in [
            ("https://docs.rs/x", true),
            ("https://crates.io/", true),
            ("http://all.example/", true),
            ("https://app.example:8443/", true),
            ("https://git.example/acme/app/issues", true),
            ("https://a.pages.example/", true),
            ("https://app.example/", false),
            ("https://e.example/?d=secret", false),
            ("https://8.8.8.8/", false),
            ("https://all.example:444/", false),
        ] {
            assert_eq!(fetched(&policy(), true, url).is_ok(), is_reached, "{url}");
            assert_eq!(fetched(&policy(), false, url), Ok(()), "{url}");
        }
        let refused = fetched(&policy(), true, "https://e.example/")
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("e.example") && refused.contains("web.allow"),
            "{refused}"
        );
    }

    #[test]
    fn setting_replaces_the_default() {
        let other = "https://e.example/";
        let closed = EgressSettings {
            registries: false,
            ..EgressSettings::default()
        };
        for (policy, has_tree, url, expected) in [
            (
                WebPolicy {
                    hosts: Some(WebHosts::Any),
                    ..policy()
                },
                true,
                other,
                None,
            ),
            (
                WebPolicy {
                    hosts: Some(WebHosts::Listed),
                    ..policy()
                },
                false,
                other,
                Some("web.allow"),
            ),
            (
                WebPolicy {
                    hosts: Some(WebHosts::None),
                    ..policy()
                },
                false,
                other,
                Some("web.hosts"),
            ),
            (
                WebPolicy {
                    is_offline: true,
                    ..policy()
                },
                false,
                other,
                Some("sandbox.network"),
            ),
            (
                WebPolicy {
                    egress: closed,
                    ..policy()
                },
                true,
                "https://docs.rs/",
                Some("web.allow"),
            ),
        ] {
            let refused = fetched(&policy, has_tree, url)
                .err()
                .map(|error| error.to_string());
            let is_expected = match (&refused, expected) {
                (None, None) => true,
                (Some(refused), Some(setting)) => refused.contains(setting),
                _ => false,
            };
            assert!(is_expected, "{policy:?}: {refused:?}");
        }
    }

    #[test]
    fn every_documentation_host_is_a_rule() {
        assert!(
            DOCUMENTATION
                .iter()
                .all(|host| HostRule::parse(host).is_ok())
        );
    }
}
