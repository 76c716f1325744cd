//! The engine: the one that is there, or our own.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ars_workerd::Progress;

use crate::Image;
use crate::api::Api;
use crate::podman::Service;
use crate::reaper::Reaper;

/// Where Docker listens when nothing else is said.
const DOCKER_SOCKET: &str = "/var/run/docker.sock";
/// Says where the engine listens, as for Docker's own command line.
const DOCKER_HOST: &str = "DOCKER_HOST";

/// An engine that answers. Dropping it ends the service that was started for it, if one was; containers stay.
#[derive(Debug)]
pub struct Engine {
    api: Api,
    gateway: Ipv4Addr,
    // Before the service: it holds the service.
    _reaper: Option<Reaper>,
    service: Option<Service>,
}

impl Engine {
    /// The engine of `DOCKER_HOST`, else a Docker that answers, else podman, set up here.
    pub fn ensure(progress: Progress<'_>) -> Result<Self> {
        if let Some(host) = std::env::var(DOCKER_HOST).ok().filter(|host| !host.is_empty()) {
            let api = Api::new(socket_of(&host)?);
            if !api.answers() {
                bail!("no container engine answers at {DOCKER_HOST}");
            }
            return Self::of(api);
        }
        let docker = Api::new(DOCKER_SOCKET);
        if Path::new(DOCKER_SOCKET).exists() && docker.answers() {
            return Self::of(docker);
        }
        let service = Service::start(progress)?;
        let reaper = Reaper::start(service.api())?;
        let engine = Self::of(service.api().clone())?;
        Ok(Self { _reaper: Some(reaper), service: Some(service), ..engine })
    }

    fn of(api: Api) -> Result<Self> {
        let network = api.get("/networks/bridge")?.json()?;
        let gateway = network["IPAM"]["Config"][0]["Gateway"].as_str().and_then(|text| text.parse().ok());
        let gateway = gateway.context("the engine's bridge has no address on this machine")?;
        Ok(Self { api, gateway, _reaper: None, service: None })
    }

    /// As the edge runtime is told of it and of the image that it is to run.
    pub fn of_edge(&self, image: &Image) -> ars_workerd::Engine {
        ars_workerd::Engine { socket: self.api.socket().to_owned(), image: image.name.clone() }
    }

    /// Its socket, as `DOCKER_HOST` names it.
    pub fn docker_host(&self) -> String {
        format!("unix://{}", self.api.socket().display())
    }

    /// The program that takes Docker's command line: a wrapper of our podman, or Docker's own.
    pub fn command_line(&self) -> &Path {
        self.service.as_ref().map_or(Path::new("docker"), Service::command_line)
    }

    /// The address at which a container finds what listens on this machine (by the name [`crate::HOST`]).
    pub fn gateway(&self) -> Ipv4Addr {
        self.gateway
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }
}

fn socket_of(host: &str) -> Result<&str> {
    host.strip_prefix("unix://").with_context(|| format!("{DOCKER_HOST} must begin with unix://"))
}

#[cfg(test)]
mod tests {
    use super::socket_of;

    #[test]
    fn only_a_socket_of_this_machine_is_taken() {
        assert_eq!(socket_of("unix:///run/x.sock").unwrap(), "/run/x.sock");
        let refused = socket_of("tcp://10.0.0.1:2375").unwrap_err().to_string();
        assert_eq!(refused, "DOCKER_HOST must begin with unix://");
    }
}
