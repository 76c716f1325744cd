//! Allowed host lists: for the installation, for a repository, and for an agent.

use std::collections::BTreeMap;

use reqwest::Url;

use super::{
    registries::REGISTRIES,
    rule::{Host, HostRule, normalized},
};

/// The hosts that commands may reach through the proxy.
#[derive(Debug, Clone)]
pub struct EgressSettings {
    /// Whether public package registry hosts are allowed.
    pub registries: bool,
    /// Hosts allowed in every run.
    pub allow: Vec<HostRule>,
    /// More hosts, by repository name.
    pub repositories: BTreeMap<String, Vec<HostRule>>,
    /// More hosts, by agent name.
    pub agents: BTreeMap<String, Vec<HostRule>>,
    /// Agents that may push with the service's login, by repository name.
    pub push: BTreeMap<String, Vec<String>>,
}

impl Default for EgressSettings {
    fn default() -> Self {
        let (repositories, agents) = (BTreeMap::new(), BTreeMap::new());
        Self {
            registries: true,
            allow: Vec::new(),
            repositories,
            agents,
            push: BTreeMap::new(),
        }
    }
}

/// What a run works on, as far as it decides about hosts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scope<'a> {
    /// The run's agent name, if any.
    pub(crate) agent: Option<&'a str>,
    /// The repository's name, if any.
    pub(crate) repository: Option<&'a str>,
    /// The repository's origin, if any.
    pub(crate) origin: Option<&'a str>,
}

impl EgressSettings {
    /// Returns whether a run may push to the repository.
    pub(super) fn may_push(&self, scope: Scope<'_>) -> bool {
        let agents = scope.repository.and_then(|name| self.push.get(name));
        scope
            .agent
            .is_some_and(|agent| agents.is_some_and(|agents| agents.iter().any(|one| one == agent)))
    }

    /// Returns whether an agent's runs have more rights than others.
    pub(crate) fn names_agent(&self, agent: &str) -> bool {
        self.agents.contains_key(agent) || self.push.values().flatten().any(|one| one == agent)
    }

    /// Returns a run's rules.
    pub(crate) fn rules(&self, scope: Scope<'_>) -> Vec<HostRule> {
        let registries = REGISTRIES.iter().filter(|_| self.registries);
        let mut rules: Vec<HostRule> = registries
            .filter_map(|host| HostRule::parse(host).ok())
            .collect();
        rules.extend(self.allow.iter().cloned());
        let of = |lists: &BTreeMap<String, Vec<HostRule>>, name: Option<&str>| {
            name.and_then(|name| lists.get(name))
                .cloned()
                .unwrap_or_default()
        };
        rules.extend(of(&self.repositories, scope.repository));
        rules.extend(of(&self.agents, scope.agent));
        rules.extend(scope.origin.and_then(rule_of_origin));
        rules
    }
}

/// Returns the rule for an origin's code host.
///
/// A stranger may control an authorized origin's DNS, so only a configured entry allows private
/// addresses.
fn rule_of_origin(origin: &str) -> Option<HostRule> {
    match Url::parse(origin) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            let Some(Host::Name(name)) = normalized(url.host_str()?) else {
                return None;
            };
            Some(HostRule::of_public_port(name, url.port_or_known_default()?))
        }
        // An ssh origin: the host serves HTTPS as well.
        Ok(url) if url.scheme() == "ssh" => https_of(url.host_str()?),
        Ok(_) => None,
        Err(_) => {
            let (place, _path) = origin.split_once(':')?;
            let (_user, host) = place.rsplit_once('@')?;
            https_of(host)
        }
    }
}

fn https_of(host: &str) -> Option<HostRule> {
    match normalized(host)? {
        Host::Name(name) => HostRule::parse(&name).ok(),
        Host::Address => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registry_is_a_rule() {
        let rules = EgressSettings::default().rules(Scope::default());
        assert_eq!(rules.len(), REGISTRIES.len());
        let closed = EgressSettings {
            registries: false,
            ..EgressSettings::default()
        };
        assert_eq!(closed.rules(Scope::default()), []);
    }

    #[test]
    fn lists_of_other_repositories_and_agents_do_not_apply() {
        let rule = |text: &str| vec![HostRule::parse(text).unwrap()];
        let settings = EgressSettings {
            registries: false,
            allow: rule("all.example"),
            repositories: [
                ("acme/app".into(), rule("app.example")),
                ("acme/other".into(), rule("no.example")),
            ]
            .into(),
            agents: [
                ("coding".into(), rule("coding.example")),
                ("review".into(), rule("no.example")),
            ]
            .into(),
            push: [("acme/app".into(), vec!["coding".into()])].into(),
        };
        let scope = Scope {
            agent: Some("coding"),
            repository: Some("acme/app"),
            origin: Some("https://git.example/acme/app"),
        };
        let rules: Vec<_> = settings
            .rules(scope)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            rules,
            [
                "all.example",
                "app.example",
                "coding.example",
                "git.example:443"
            ]
        );
        assert!(settings.may_push(scope));
        for other in [
            Scope {
                agent: Some("review"),
                ..scope
            },
            Scope {
                agent: None,
                ..scope
            },
            Scope {
                repository: Some("acme/other"),
                ..scope
            },
        ] {
            assert!(!settings.may_push(other), "{other:?}");
        }
    }

    #[test]
    fn origin_allows_its_code_host() {
        for (origin, rule) in [
            ("https://git.example/a/b", Some("git.example:443")),
            ("http://git.example:3000/a/b", Some("git.example:3000")),
            ("ssh://git@git.example/a/b", Some("git.example")),
            ("git@git.example:a/b.git", Some("git.example")),
            ("https://10.0.0.1/a", None),
            ("/srv/git/app", None),
            ("file:///srv/git/app", None),
        ] {
            assert_eq!(
                rule_of_origin(origin)
                    .map(|rule| rule.to_string())
                    .as_deref(),
                rule,
                "{origin}"
            );
        }
    }
}
