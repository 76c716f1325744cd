//! The engine: the machine's, or our own.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ars_workerd::Progress;

use crate::Image;
use crate::api::Api;
use crate::podman::Service;
use crate::reaper::Reaper;

/// Docker's default socket.
const DOCKER_SOCKET: &str = "/var/run/docker.sock";
/// The variable that names the engine's socket, as for Docker's command line.
const DOCKER_HOST: &str = "DOCKER_HOST";

/// An engine that answers. Dropping it ends the service that was started for it, if any; containers
/// stay.
#[derive(Debug)]
pub struct Engine {
    api: Api,
    gateway: Ipv4Addr,
    // Before the service: it holds the service.
    _reaper: Reaper,
    service: Option<Service>,
}

impl Engine {
    /// Finds the engine at `DOCKER_HOST`, else a Docker that answers, else podman, set up here.
    pub fn ensure(progress: Progress<'_>) -> Result<Self> {
        if let Some(host) = std::env::var(DOCKER_HOST)
            .ok()
            .filter(|host| !host.is_empty())
        {
            return Self::at(&host);
        }
        let docker = Api::new(DOCKER_SOCKET);
        if Path::new(DOCKER_SOCKET).exists() && docker.answers() {
            return Self::start(docker);
        }
        let service = Service::start(progress)?;
        let engine = Self::start(service.api().clone())?;
        Ok(Self {
            service: Some(service),
            ..engine
        })
    }

    fn at(host: &str) -> Result<Self> {
        let api = Api::new(socket_of(host)?);
        if !api.answers() {
            bail!("no container engine answers at {DOCKER_HOST}");
        }
        Self::start(api)
    }

    /// Starts the reaper on any engine: our stopped container would keep its name.
    fn start(api: Api) -> Result<Self> {
        let network = api.get("/networks/bridge")?.json()?;
        let gateway = network["IPAM"]["Config"][0]["Gateway"]
            .as_str()
            .and_then(|text| text.parse().ok());
        let gateway = gateway.context("the engine's bridge has no address on this machine")?;
        let reaper = Reaper::start(&api)?;
        Ok(Self {
            api,
            gateway,
            _reaper: reaper,
            service: None,
        })
    }

    /// Whether it is the podman that was set up here, and not an engine that others use as well.
    pub fn is_own(&self) -> bool {
        self.service.is_some()
    }

    /// Returns the engine and the image in the form for the edge runtime's settings.
    pub fn of_edge(&self, image: &Image) -> ars_workerd::Engine {
        ars_workerd::Engine {
            socket: self.api.socket().to_owned(),
            image: image.name.clone(),
        }
    }

    /// Returns the socket, as `DOCKER_HOST` names it.
    pub fn docker_host(&self) -> String {
        format!("unix://{}", self.api.socket().display())
    }

    /// Returns the program that takes Docker's command line: our podman's wrapper, or Docker's own.
    pub fn command_line(&self) -> &Path {
        self.service
            .as_ref()
            .map_or(Path::new("docker"), Service::command_line)
    }

    /// Returns the address at which containers reach this machine (by the name [`crate::HOST`]).
    pub fn gateway(&self) -> Ipv4Addr {
        self.gateway
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }
}

fn socket_of(host: &str) -> Result<&str> {
    host.strip_prefix("unix://")
        .with_context(|| format!("{DOCKER_HOST} must begin with unix://"))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::{Sender, channel};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Timeout for a removal.
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A Docker with a stopped container each from us and from another project.
    fn shared_docker(listener: &UnixListener, removed: &Sender<String>) {
        let mut open = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap())
                .read_line(&mut line)
                .unwrap();
            let body = match line.split(' ').nth(1).unwrap() {
                "/networks/bridge" => r#"{"IPAM":{"Config":[{"Gateway":"172.17.0.1"}]}}"#,
                "/containers/json?all=true" => {
                    r#"[{"Id":"theirs","Names":["/workerd-other-1"],"State":"exited"},
                        {"Id":"ours","Names":["/workerd-ars-bot-1"],"State":"exited"}]"#
                }
                _ => "{}",
            };
            write!(stream, "HTTP/1.0 200 OK\r\n\r\n{body}").unwrap();
            if line.starts_with("DELETE") {
                removed.send(line).unwrap();
            } else if line.contains("/events") {
                open.push(stream);
            }
        }
    }

    #[test]
    fn only_our_stopped_containers_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let (sender, receiver) = channel();
        thread::spawn(move || shared_docker(&listener, &sender));
        let engine = Engine::at(&format!("unix://{}", socket.display())).unwrap();
        assert!(!engine.is_own());
        let removed = receiver.recv_timeout(TIMEOUT).unwrap();
        assert!(removed.starts_with("DELETE /containers/ours?"), "{removed}");
        // Stopped containers are removed before the engine is returned.
        assert!(receiver.try_recv().is_err(), "another was removed");
    }

    #[test]
    fn only_a_local_socket_is_accepted() {
        assert_eq!(socket_of("unix:///run/x.sock").unwrap(), "/run/x.sock");
        let refused = socket_of("tcp://10.0.0.1:2375").unwrap_err().to_string();
        assert_eq!(refused, "DOCKER_HOST must begin with unix://");
    }
}
