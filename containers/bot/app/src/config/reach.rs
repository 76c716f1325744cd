//! Variables, hosts and sandbox settings that a state Worker document may name.
//!
//! A holder of the state Worker's bearer can write its documents, and must not obtain the process's
//! other secrets through an address of his own, or through commands outside a sandbox. An
//! operator's file has no such limits.

use ars_auth::Secret;
use ars_types::SandboxNetwork;
use reqwest::Url;

use super::{
    ConfigError, File, Worker,
    file::{Sandbox, SandboxChoice},
    providers::Provider,
};
use crate::environment::name;

/// Prefix for secrets that are meant for documents (docs/guide/cloudflare.md).
const OWN_SECRETS: &str = "ARS_SECRET_";
/// Variables with the headers for exported spans.
const SPAN_HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];
/// The `CONFIG_SANDBOX` value that lets documents weaken the sandbox.
const ANY_SANDBOX: &str = "any";

/// What a document may reach.
pub struct Reach<'a> {
    /// Address of the state Worker that has the document.
    pub state_url: &'a str,
    /// Hosts in the operator's list, `CONFIG_HOSTS`, separated by commas.
    pub hosts: Option<&'a str>,
    /// Whether it may weaken the sandbox, by `CONFIG_SANDBOX`.
    pub sandbox: Option<&'a str>,
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A field that names a variable.
struct Named<'a> {
    key: String,
    variable: Option<&'a str>,
    /// Variables that the field may name beside the documents' own secrets. Without a name they are
    /// sent.
    usual: &'a [&'a str],
}

impl Reach<'_> {
    /// Checks a document.
    ///
    /// # Errors
    /// The first field with a variable or an address out of reach, or with a weaker sandbox.
    pub fn check(&self, file: &File) -> Result<(), ConfigError> {
        self.sandbox(&file.sandbox)?;
        for (name, provider) in &file.providers {
            self.provider(name, provider)?;
        }
        self.worker("runHistory", file.run_history.worker.as_ref())?;
        self.worker("memory", file.memory.worker.as_ref())?;
        self.worker("schedules", file.schedules.worker.as_ref())?;
        let resident = &file.execution.resident;
        for (key, variable, usual) in [
            (
                "tokenEnv",
                &resident.token_env,
                name::RESIDENT_OPERATOR_TOKEN,
            ),
            (
                "adminTokenEnv",
                &resident.admin_token_env,
                name::RESIDENT_ADMIN_TOKEN,
            ),
        ] {
            let key = format!("execution.resident.{key}");
            let named = Named {
                key,
                variable: variable.as_deref(),
                usual: &[usual],
            };
            self.named(&named)?;
            self.address(
                "execution.resident.baseUrl",
                resident.base_url.as_deref(),
                Some(&named),
            )?;
        }
        let key = "dashboard.token.env".to_owned();
        let variable = file.dashboard.token.env.as_deref();
        self.named(&Named {
            key,
            variable,
            usual: &[super::dashboard::DASHBOARD_TOKEN],
        })?;
        let headers = Named {
            key: String::new(),
            variable: None,
            usual: &SPAN_HEADERS,
        };
        self.address(
            "telemetry.otlpEndpoint",
            file.telemetry.otlp_endpoint.as_deref(),
            Some(&headers),
        )
    }

    /// Checks that commands stay apart from the machine's secrets and network.
    fn sandbox(&self, sandbox: &Sandbox) -> Result<(), ConfigError> {
        if self
            .sandbox
            .is_some_and(|value| value.trim() == ANY_SANDBOX)
        {
            return Ok(());
        }
        let weakening = [
            ("sandbox.kind", sandbox.kind == SandboxChoice::None),
            (
                "sandbox.network",
                sandbox.network == Some(SandboxNetwork::Open),
            ),
            ("sandbox.readable", !sandbox.readable.is_empty()),
            ("sandbox.listen", sandbox.listen),
        ];
        let Some((key, _)) = weakening.into_iter().find(|(_, is_weaker)| *is_weaker) else {
            return Ok(());
        };
        let problem = format!(
            "in a document of the state Worker must not weaken the sandbox, unless {}={ANY_SANDBOX} is set",
            name::CONFIG_SANDBOX
        );
        Err(ConfigError::invalid(key, problem))
    }

    fn provider(&self, name: &str, provider: &Provider) -> Result<(), ConfigError> {
        let usual = [provider.kind.conventional_key()];
        // The vendor's key goes to the vendor only.
        let usual = if provider.base_url.is_none() {
            &usual[..]
        } else {
            &[]
        };
        let key = format!("providers.{name}.apiKeyEnv");
        let named = Named {
            key,
            variable: provider.api_key_env.as_deref(),
            usual,
        };
        self.named(&named)?;
        let sent = named.variable.is_some().then_some(&named);
        self.address(
            &format!("providers.{name}.baseUrl"),
            provider.base_url.as_deref(),
            sent,
        )
    }

    fn worker(&self, section: &str, worker: Option<&Worker>) -> Result<(), ConfigError> {
        let Some(worker) = worker else { return Ok(()) };
        let key = format!("{section}.worker.tokenEnv");
        let named = Named {
            key,
            variable: worker.token_env.as_deref(),
            usual: &[name::MEMORY_TOKEN],
        };
        self.named(&named)?;
        self.address(
            &format!("{section}.worker.baseUrl"),
            Some(&worker.base_url),
            Some(&named),
        )
    }

    /// Checks that a field names a variable within reach.
    fn named(&self, named: &Named<'_>) -> Result<(), ConfigError> {
        let Some(variable) = named.variable else {
            return Ok(());
        };
        if is_own(variable) || named.usual.contains(&variable) {
            return Ok(());
        }
        let usual: String = named
            .usual
            .iter()
            .map(|usual| format!("{usual}, or "))
            .collect();
        let problem =
            format!("in a document of the state Worker must be {usual}a name with {OWN_SECRETS}");
        Err(ConfigError::invalid(&named.key, problem))
    }

    /// Checks that a secret which goes to an address stays within reach. A listed host may get
    /// everything. Without a list the documents' own secrets may go to any host.
    fn address(
        &self,
        key: &str,
        url: Option<&str>,
        sent: Option<&Named<'_>>,
    ) -> Result<(), ConfigError> {
        let Some(url) = url else { return Ok(()) };
        let is_secret_sent = sent.is_some_and(|named| match named.variable {
            Some(variable) => self.hosts.is_some() || !is_own(variable),
            None => named
                .usual
                .iter()
                .any(|usual| Secret::parse((self.variable)(usual)).is_some()),
        });
        if !is_secret_sent || self.is_listed(url) {
            return Ok(());
        }
        let problem = format!(
            "in a document of the state Worker must have a host of the list in {}, because a secret is sent there",
            name::CONFIG_HOSTS
        );
        Err(ConfigError::invalid(key, problem))
    }

    /// Returns whether an address has the host and port of the state Worker, or a listed host.
    /// Other ports on the state Worker's host, and on this machine, may belong to another program.
    fn is_listed(&self, url: &str) -> bool {
        let place_of = |url: &str| {
            let url = Url::parse(url).ok()?;
            Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
        };
        let Some((host, port)) = place_of(url) else {
            return false;
        };
        if place_of(self.state_url).is_some_and(|own| own == (host.clone(), port)) {
            return true;
        }
        let with_port = format!("{host}:{port}");
        let mut listed = self.hosts.unwrap_or_default().split(',').map(str::trim);
        listed.any(|entry| {
            entry.eq_ignore_ascii_case(&host) || entry.eq_ignore_ascii_case(&with_port)
        })
    }
}

/// Returns whether a variable is meant for documents.
fn is_own(variable: &str) -> bool {
    variable
        .strip_prefix(OWN_SECRETS)
        .is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Format, parse};

    const STATE: &str = "https://state.example";

    /// Checks a document in a process in which every variable is set.
    fn check(text: &str, hosts: Option<&str>) -> Result<(), String> {
        let file = parse(text, Format::Yaml).unwrap();
        let reach = Reach {
            state_url: STATE,
            hosts,
            sandbox: None,
            variable: &|_| Some("x".into()),
        };
        reach.check(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn document_cannot_send_other_secrets() {
        for (text, key) in [
            (
                "providers: { a: { type: anthropic, baseUrl: 'https://x.example', apiKeyEnv: ANTHROPIC_API_KEY } }",
                "providers.a.apiKeyEnv",
            ),
            (
                "providers: { a: { type: anthropic, apiKeyEnv: OPENAI_API_KEY } }",
                "providers.a.apiKeyEnv",
            ),
            (
                "providers: { a: { type: anthropic, apiKeyEnv: ARS_SECRET_ } }",
                "providers.a.apiKeyEnv",
            ),
            (
                "memory: { worker: { baseUrl: 'https://x.example' } }",
                "memory.worker.baseUrl",
            ),
            (
                "runHistory: { worker: { baseUrl: 'https://x.example', tokenEnv: GH_TOKEN } }",
                "runHistory.worker.tokenEnv",
            ),
            (
                "schedules: { worker: { baseUrl: 'https://x.example' } }",
                "schedules.worker.baseUrl",
            ),
            (
                "execution: { resident: { baseUrl: 'https://x.example' } }",
                "execution.resident.baseUrl",
            ),
            (
                "execution: { resident: { baseUrl: 'https://x.example', tokenEnv: PATH } }",
                "execution.resident.tokenEnv",
            ),
            ("dashboard: { token: { env: HOME } }", "dashboard.token.env"),
            (
                "telemetry: { otlpEndpoint: 'https://x.example' }",
                "telemetry.otlpEndpoint",
            ),
            // A port on this machine, or on the state Worker's host, may belong to another program.
            (
                "execution: { resident: { baseUrl: 'http://127.0.0.1:1' } }",
                "execution.resident.baseUrl",
            ),
            (
                "memory: { worker: { baseUrl: 'http://localhost:9999' } }",
                "memory.worker.baseUrl",
            ),
            (
                "memory: { worker: { baseUrl: 'https://state.example:8443' } }",
                "memory.worker.baseUrl",
            ),
        ] {
            let error = check(text, None).unwrap_err();
            assert!(error.contains(key), "{text}: {error}");
        }
    }

    /// Commands outside a sandbox could read the operator's files, or send them anywhere.
    #[test]
    fn document_cannot_weaken_the_sandbox() {
        for (text, key) in [
            ("sandbox: { kind: none }", "sandbox.kind"),
            ("sandbox: { network: open }", "sandbox.network"),
            (
                "sandbox: { readable: ['/home/me/.ssh'] }",
                "sandbox.readable",
            ),
            ("sandbox: { listen: true }", "sandbox.listen"),
        ] {
            let error = check(text, Some("state.example")).unwrap_err();
            assert!(
                error.contains(key) && error.contains("CONFIG_SANDBOX=any"),
                "{text}: {error}"
            );
            let file = parse(text, Format::Yaml).unwrap();
            for (value, is_allowed) in [("any", true), ("", false), ("true", false)] {
                let reach = Reach {
                    state_url: STATE,
                    hosts: None,
                    sandbox: Some(value),
                    variable: &|_| None,
                };
                assert_eq!(
                    reach.check(&file).is_ok(),
                    is_allowed,
                    "{text} with {value:?}"
                );
            }
        }
    }

    #[test]
    fn local_state_worker_and_listed_ports_are_in_reach() {
        let text = "memory: { worker: { baseUrl: 'http://127.0.0.1:8788' } }\n\
            execution: { resident: { baseUrl: 'http://127.0.0.1:8789' } }";
        let file = parse(text, Format::Yaml).unwrap();
        let variable: &dyn Fn(&str) -> Option<String> = &|_| Some("x".into());
        for (hosts, is_in_reach) in [
            (None, false),
            (Some("127.0.0.1:8790"), false),
            (Some("127.0.0.1:8789"), true),
            (Some("127.0.0.1"), true),
        ] {
            let reach = Reach {
                state_url: "http://127.0.0.1:8788",
                hosts,
                sandbox: None,
                variable,
            };
            assert_eq!(reach.check(&file).is_ok(), is_in_reach, "{hosts:?}");
        }
    }

    #[test]
    fn document_has_its_own_secrets() {
        for text in [
            "providers: { a: { type: anthropic, apiKeyEnv: ANTHROPIC_API_KEY } }",
            "providers: { a: { type: openai-compatible, baseUrl: 'https://x.example' } }",
            "providers: { a: { type: anthropic, baseUrl: 'https://x.example', apiKeyEnv: ARS_SECRET_A } }",
            "memory: { worker: { baseUrl: 'https://state.example/', tokenEnv: MEMORY_TOKEN } }",
            "sandbox: { kind: landlock, network: none, egress: { allow: [x.example] } }",
            "dashboard: { token: { env: DASHBOARD_TOKEN } }",
        ] {
            assert_eq!(check(text, None), Ok(()), "{text}");
        }
    }

    #[test]
    fn listed_hosts_bound_every_secret() {
        let resident = "execution: { resident: { baseUrl: 'https://r.example' } }";
        assert_eq!(check(resident, Some("x.example, R.example")), Ok(()));
        let own = "providers: { a: { type: anthropic, baseUrl: 'https://x.example:8443', apiKeyEnv: ARS_SECRET_A } }";
        assert_eq!(check(own, Some("x.example")), Ok(()));
        let error = check(own, Some("y.example")).unwrap_err();
        assert!(
            error.contains("providers.a.baseUrl") && error.contains("CONFIG_HOSTS"),
            "{error}"
        );
    }

    #[test]
    fn unset_default_is_not_sent() {
        let file = parse(
            "telemetry: { otlpEndpoint: 'https://x.example' }",
            Format::Yaml,
        )
        .unwrap();
        let reach = Reach {
            state_url: STATE,
            hosts: None,
            sandbox: None,
            variable: &|_| None,
        };
        assert!(reach.check(&file).is_ok());
    }
}
