//! The installation's residents: on the resident Worker, or on this machine.
//!
//! Not here: selecting a tree's place and the client (`ars_bot_adapters::residents`).

use std::{path::Path, sync::Arc, time::Duration};

use ars_auth::Secret;
use ars_bot_adapters::{
    logins::secrets_of,
    residents::{
        AutoOnboarding, KnownRepositories, LocalTransport, PROBE_TIMEOUT, RESIDENTS,
        ResidentPlaces, ResidentWorker, ResidentWorkspaces, ResidentsClient, ResourceOf,
    },
    workspace::GitWorkspaces,
};
use ars_bot_ports::{Repository, Residents};
use ars_resident::names::Resource;
use ars_types::RepoSlug;

use crate::{
    build_stamp,
    commands::Failure,
    config::{self, Resident},
    environment::{self, name},
    stores::is_private,
};

/// Code host for residents whose host the configuration does not name.
const CODE_HOST: &str = "https://github.com";

/// Residents as the configuration sets them.
pub enum ResidentsConfig {
    /// There are no residents.
    Off,
    /// This machine's residents, if any.
    Local,
    /// Residents run behind the Worker.
    Worker {
        /// Address of the Worker.
        base_url: String,
        /// The operators' bearer token.
        operator: Secret,
        /// The administrators' bearer token.
        admin: Option<Secret>,
        /// The code host's base address.
        code_host: String,
    },
}

impl ResidentsConfig {
    /// Reads the configuration.
    ///
    /// # Errors
    /// A key is invalid, or the Worker's bearer is not set.
    pub fn read(settings: &Resident) -> Result<Self, Failure> {
        let failed =
            |error: &config::ConfigError| Failure::InvalidInput(format!("configuration: {error}"));
        settings.check().map_err(|error| failed(&error))?;
        let Some(base_url) = settings.base_url.clone() else {
            return Ok(if settings.local == Some(false) {
                Self::Off
            } else {
                Self::Local
            });
        };
        let invalid = |words: &str| {
            Failure::InvalidInput(format!("configuration: execution.resident.{words}"))
        };
        if !is_private(&base_url) {
            return Err(invalid(
                "baseUrl: must begin with https:// (http:// only for this machine)",
            ));
        }
        let secret = |configured: &Option<String>, default: &str| {
            Secret::parse(environment::variable(
                configured.as_deref().unwrap_or(default),
            ))
        };
        let operator = secret(&settings.token_env, name::RESIDENT_OPERATOR_TOKEN);
        let operator = operator.ok_or_else(|| {
            invalid("tokenEnv: the bearer it names, or RESIDENT_OPERATOR_TOKEN, is not set")
        })?;
        let admin = secret(&settings.admin_token_env, name::RESIDENT_ADMIN_TOKEN);
        if settings.admin_token_env.is_some() && admin.is_none() {
            return Err(invalid("adminTokenEnv: the bearer it names is not set"));
        }
        let code_host = settings
            .code_host_url
            .clone()
            .unwrap_or_else(|| CODE_HOST.to_owned());
        Ok(Self::Worker {
            base_url,
            operator,
            admin,
            code_host,
        })
    }

    /// Returns the bearers, which no output may contain.
    pub fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Off | Self::Local => Vec::new(),
            Self::Worker {
                operator, admin, ..
            } => [operator].into_iter().chain(admin).cloned().collect(),
        }
    }
}

/// Residents that this process uses.
pub struct InstalledResidents {
    /// The port to the residents.
    pub port: Arc<dyn Residents>,
    /// The workspaces on them and on the local disk.
    pub workspaces: Arc<ResidentWorkspaces>,
    /// This machine's residents, if any.
    pub local: Option<Arc<LocalTransport>>,
}

/// Connects the residents. Nothing is opened yet.
///
/// `onboards` lets runs onboard configured repositories on this machine.
pub fn connect(
    config: &ResidentsConfig,
    settings: &Resident,
    repositories: &[Repository],
    workspaces: &Arc<GitWorkspaces>,
    data_dir: &Path,
    onboards: bool,
) -> Result<Option<InstalledResidents>, Failure> {
    let probe = settings
        .probe_timeout_ms
        .map_or(PROBE_TIMEOUT, Duration::from_millis);
    let repositories: Arc<[Repository]> = repositories.into();
    let (port, places, local): (Arc<dyn Residents>, _, _) = match config {
        ResidentsConfig::Off => return Ok(None),
        ResidentsConfig::Local => {
            let known = known(Arc::clone(&repositories));
            let resource_of = on_this_machine(Arc::clone(&known));
            let (folder, build) = (
                data_dir.join(RESIDENTS),
                build_stamp::build().commit.clone(),
            );
            let transport = Arc::new(LocalTransport::new(
                folder,
                Arc::clone(workspaces),
                known,
                build,
            ));
            let client = ResidentsClient::over(Arc::clone(&transport), probe);
            (
                Arc::new(client),
                ResidentPlaces {
                    resource_of,
                    are_local: true,
                },
                Some(transport),
            )
        }
        ResidentsConfig::Worker {
            base_url,
            operator,
            admin,
            code_host,
        } => {
            let worker = ResidentWorker::at(base_url, operator, admin.as_ref());
            let worker = worker
                .map_err(|error| Failure::InvalidInput(format!("execution.resident: {error}")))?;
            let resource_of = on_code_host(code_host);
            let client = ResidentsClient::over(worker, probe);
            (
                Arc::new(client),
                ResidentPlaces {
                    resource_of,
                    are_local: false,
                },
                None,
            )
        }
    };
    let mut selected =
        ResidentWorkspaces::new(Arc::clone(workspaces), Arc::clone(&port), places, data_dir);
    if let Some(transport) = local.as_ref().filter(|_| onboards) {
        let onboarding =
            AutoOnboarding::new(Arc::clone(transport), Arc::clone(&port), repositories);
        selected = selected.with_onboarding(onboarding);
    }
    Ok(Some(InstalledResidents {
        port,
        workspaces: Arc::new(selected),
        local,
    }))
}

/// Returns a resource's repository on this machine. It is a configured repository by name or place,
/// else that of the code host.
fn known(repositories: Arc<[Repository]>) -> KnownRepositories {
    Arc::new(move |resource| {
        let by_name = |known: &&Repository| slug_resource(&known.name).as_ref() == Some(resource);
        let by_place = |known: &&Repository| {
            place_of(&known.origin)
                .and_then(|place| place.resource())
                .as_ref()
                == Some(resource)
        };
        let configured = repositories
            .iter()
            .find(by_name)
            .or_else(|| repositories.iter().find(by_place));
        let repository = configured.cloned().unwrap_or_else(|| Repository {
            name: resource.slug().to_owned(),
            origin: format!("{CODE_HOST}/{}", resource.slug()),
        });
        // Git's arguments are visible to other processes on this machine.
        secrets_of(&repository.origin)
            .is_empty()
            .then_some(repository)
    })
}

/// Returns a repository's resource on this machine, if the resource leads back to the same place.
fn on_this_machine(known: KnownRepositories) -> ResourceOf {
    Arc::new(move |repository| {
        let of_place = place_of(&repository.origin);
        let candidates = [
            slug_resource(&repository.name),
            of_place.as_ref().and_then(Place::resource),
        ];
        candidates.into_iter().flatten().find(|resource| {
            known(resource).is_some_and(|known| {
                known.origin == repository.origin
                    || (of_place.is_some() && place_of(&known.origin) == of_place)
            })
        })
    })
}

/// Returns the resource for a repository on a single code host.
fn on_code_host(base_url: &str) -> ResourceOf {
    let base = host_of(base_url);
    Arc::new(move |repository| {
        let place = place_of(&repository.origin)?;
        (Some(&place.host) == base.as_ref())
            .then(|| place.resource())
            .flatten()
    })
}

/// An origin's host and path, however it is spelled.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// Empty for a path on this machine.
    host: String,
    path: String,
}

impl Place {
    /// Returns the resource for the path's last two parts.
    fn resource(&self) -> Option<Resource> {
        let mut parts = self.path.rsplit('/').filter(|part| !part.is_empty());
        let (name, owner) = (parts.next()?, parts.next()?);
        // On a code host a repository is right below the host.
        let is_whole = self.host.is_empty() || parts.next().is_none();
        is_whole
            .then(|| slug_resource(&format!("{owner}/{name}")))
            .flatten()
    }
}

fn slug_resource(slug: &str) -> Option<Resource> {
    let slug = RepoSlug::parse(slug.to_lowercase()).ok()?;
    Resource::for_repo(&slug).ok()
}

/// Returns host and path from a URL, git's `user@host:path`, or a path on this machine.
fn place_of(origin: &str) -> Option<Place> {
    let bare = |path: &str| {
        let path = path.trim_end_matches('/');
        path.strip_suffix(".git")
            .unwrap_or(path)
            .trim_matches('/')
            .to_owned()
    };
    if origin.starts_with('/') {
        return Some(Place {
            host: String::new(),
            path: bare(origin),
        });
    }
    if origin.contains("://") {
        let url = reqwest::Url::parse(origin).ok()?;
        if url.scheme() == "file" {
            return Some(Place {
                host: String::new(),
                path: bare(url.path()),
            });
        }
        return Some(Place {
            host: host_of(origin)?,
            path: bare(url.path()),
        });
    }
    let (host, path) = origin.split_once(':')?;
    let host = host.rsplit('@').next()?.to_lowercase();
    Some(Place {
        host,
        path: bare(path),
    })
}

/// Returns a URL's host and port. The scheme's default port is absent.
fn host_of(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let host = url.host_str()?.to_lowercase();
    let port = url
        .port()
        .filter(|port| !(url.scheme() == "ssh" && *port == 22));
    Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(name: &str, origin: &str) -> Repository {
        Repository {
            name: name.to_owned(),
            origin: origin.to_owned(),
        }
    }

    fn shown(resource: Option<Resource>) -> Option<String> {
        resource.map(|resource| resource.slug().to_owned())
    }

    #[test]
    fn worker_serves_repositories_of_its_code_host() {
        let of = on_code_host("https://github.com");
        let slug = |origin: &str| shown(of(&repository("any", origin)));
        for origin in [
            "https://github.com/Acme/App.git",
            "git@github.com:acme/app",
            "ssh://git@github.com:22/acme/app",
        ] {
            assert_eq!(slug(origin).as_deref(), Some("acme/app"), "{origin}");
        }
        for origin in [
            "https://github.example/acme/app",
            "https://github.com/a/b/c",
            "/srv/git/acme/app",
            "x",
        ] {
            assert_eq!(slug(origin), None, "{origin}");
        }
        let local = on_code_host("http://127.0.0.1:9000");
        assert_eq!(
            shown(local(&repository("any", "http://127.0.0.1:9000/a/b.git"))).as_deref(),
            Some("a/b")
        );
        assert_eq!(
            local(&repository("any", "http://127.0.0.1:9001/a/b.git")),
            None
        );
    }

    #[test]
    fn resource_of_this_machine_leads_back_to_the_repository() {
        let configured: Arc<[Repository]> = [
            repository("acme/app", "/srv/git/app"),
            repository("short", "https://github.com/acme/lib"),
            repository("acme/secret", "https://u:p@github.com/acme/secret"),
        ]
        .into();
        let of = on_this_machine(known(Arc::clone(&configured)));
        assert_eq!(shown(of(&configured[0])).as_deref(), Some("acme/app"));
        assert_eq!(shown(of(&configured[1])).as_deref(), Some("acme/lib"));
        assert_eq!(
            of(&configured[2]),
            None,
            "its credentials would be an argument"
        );
        // The name is taken by another place.
        assert_eq!(
            of(&repository("origin:x", "https://github.com/acme/app")),
            None
        );
        assert_eq!(
            shown(of(&repository("origin:y", "https://github.com/cli/cli"))).as_deref(),
            Some("cli/cli")
        );
    }
}
