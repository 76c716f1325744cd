//! Engine containers: for cleaning up after an edge runtime, and for tests.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{Engine, HOST, Image, api::Api};

/// How often the engine is asked for the list, which fails while a container is being removed.
const LOOKS: u32 = 5;
/// Pause between two such requests.
const PAUSE: Duration = Duration::from_millis(200);

/// A container known to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Id at the engine.
    pub id: String,
    /// Name without a leading slash.
    pub name: String,
    /// Whether the process lives.
    pub running: bool,
}

/// How a container is started without an edge runtime. No `Debug`: the environment holds secrets.
#[derive(Default)]
pub struct Run<'a> {
    /// Variable names and values.
    pub env: &'a [(&'a str, &'a str)],
    /// Nothing can be written but to the data directory, which is in memory.
    pub read_only: bool,
    /// Replaces the image's own command.
    pub entrypoint: Option<&'a [&'a str]>,
    /// An archive that is extracted at the root before the start.
    pub files: Option<&'a [u8]>,
}

impl Engine {
    /// Returns an image's containers, including ended ones.
    pub fn containers(&self, image: &Image) -> Result<Vec<Container>> {
        // Not the engine's own filter: podman's knows an image by full name only.
        self.listed(|row| {
            row["Image"]
                .as_str()
                .is_some_and(|found| is_same(found, &image.name))
        })
    }

    /// Returns the containers with this name prefix, including stopped ones.
    pub fn containers_named(&self, prefix: &str) -> Result<Vec<Container>> {
        self.listed(|row| name_of(row).starts_with(prefix))
    }

    fn listed(&self, is_meant: impl Fn(&Value) -> bool) -> Result<Vec<Container>> {
        let listed = list(self.api())?;
        let container = |row: &Value| {
            let (id, running) = (row["Id"].as_str()?.to_owned(), row["State"] == "running");
            Some(Container {
                id,
                name: name_of(row).to_owned(),
                running,
            })
        };
        Ok(listed
            .as_array()
            .into_iter()
            .flatten()
            .filter(|row| is_meant(row))
            .filter_map(container)
            .collect())
    }

    /// Starts a container on a free port of this machine; returns the id and the port.
    pub fn run(&self, image: &Image, run: &Run<'_>) -> Result<(String, u16)> {
        let env: Vec<_> = run
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut body = json!({
            "Image": image.name,
            "Env": env,
            "ExposedPorts": {"8080/tcp": {}},
            "HostConfig": {
                "ReadonlyRootfs": run.read_only,
                "PortBindings": {"8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]},
            },
        });
        if run.read_only {
            body["HostConfig"]["Tmpfs"] = json!({"/data": "mode=1777"});
        }
        if let Some(entrypoint) = run.entrypoint {
            body["Entrypoint"] = json!(entrypoint);
        }
        let made = self.api().post("/containers/create", &body)?.json()?;
        let id = made["Id"]
            .as_str()
            .context("the engine made a container without an id")?
            .to_owned();
        let files = run
            .files
            .map(|files| ("PUT", format!("/containers/{id}/archive?path=/"), files));
        let start = ("POST", format!("/containers/{id}/start"), &b"{}"[..]);
        for (method, path, body) in files.into_iter().chain([start]) {
            let answer = self.api().call(method, &path, body)?;
            if !answer.is_success() {
                self.remove(&id)?;
                anyhow::bail!("{}", answer.complaint());
            }
        }
        match self.port(&id) {
            Ok(port) => Ok((id, port)),
            Err(error) => {
                self.remove(&id)?;
                Err(error)
            }
        }
    }

    /// Returns this machine's port that leads to a running container.
    pub fn port(&self, id: &str) -> Result<u16> {
        let inspected = self.inspect(id)?;
        let port = inspected["NetworkSettings"]["Ports"]["8080/tcp"][0]["HostPort"].as_str();
        port.and_then(|port| port.parse().ok())
            .context("the engine leads no port to the container")
    }

    /// Returns a container's description in Docker's format.
    pub fn inspect(&self, id: &str) -> Result<Value> {
        self.api().get(&format!("/containers/{id}/json"))?.json()
    }

    /// Returns a container's output.
    pub fn logs(&self, id: &str) -> Result<String> {
        let answer = self
            .api()
            .get(&format!("/containers/{id}/logs?stdout=true&stderr=true"))?;
        ensure!(answer.is_success(), "{}", answer.complaint());
        Ok(lines(&answer.body))
    }

    /// Returns every file in a container, as an archive.
    pub fn export(&self, id: &str) -> Result<Vec<u8>> {
        let answer = self.api().get(&format!("/containers/{id}/export"))?;
        ensure!(answer.is_success(), "{}", answer.complaint());
        Ok(answer.body)
    }

    /// Sends a signal to a container's process.
    pub fn kill(&self, id: &str, signal: &str) -> Result<()> {
        let answer = self.api().post(
            &format!("/containers/{id}/kill?signal={signal}"),
            &json!({}),
        )?;
        ensure!(answer.is_success(), "{}", answer.complaint());
        Ok(())
    }

    /// Has a container end by SIGTERM, and kills it after so many seconds. The engine does not
    /// start it again then, as it may after another signal.
    pub fn stop(&self, id: &str, seconds: u64) -> Result<()> {
        let answer = self
            .api()
            .post(&format!("/containers/{id}/stop?t={seconds}"), &json!({}))?;
        // 304: it had ended already.
        ensure!(
            answer.is_success() || [304, 404].contains(&answer.status),
            "{}",
            answer.complaint()
        );
        Ok(())
    }

    /// Ends and removes a container, also if it is gone already.
    pub fn remove(&self, id: &str) -> Result<()> {
        let answer = self
            .api()
            .delete(&format!("/containers/{id}?force=true&v=true"))?;
        ensure!(
            answer.is_success() || answer.status == 404,
            "{}",
            answer.complaint()
        );
        Ok(())
    }
}

/// Returns all containers' descriptions, including stopped ones.
pub(crate) fn list(api: &Api) -> Result<Value> {
    let asked = || -> Result<Value> {
        let answer = api.get("/containers/json?all=true")?;
        ensure!(answer.is_success(), "{}", answer.complaint());
        answer.json()
    };
    let again = |_| {
        thread::sleep(PAUSE);
        asked()
    };
    (1..LOOKS).fold(asked(), |listed, _| listed.or_else(again))
}

/// Returns the URL by which a container reaches this machine's port.
pub fn address_for_containers(port: u16) -> String {
    format!("http://{HOST}:{port}")
}

fn name_of(row: &Value) -> &str {
    row["Names"][0]
        .as_str()
        .unwrap_or_default()
        .trim_start_matches('/')
}

/// Whether an engine means this image: podman puts a registry in front.
fn is_same(found: &str, name: &str) -> bool {
    found
        .strip_suffix(name)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Output comes in frames: a byte that names the stream, three zero bytes, four for the length.
fn lines(mut frames: &[u8]) -> String {
    let mut text = Vec::new();
    while let Some((head, rest)) = frames.split_at_checked(8) {
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let (frame, next) = rest.split_at(length.min(rest.len()));
        text.extend_from_slice(frame);
        frames = next;
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_matched_by_its_full_name() {
        assert!(
            is_same("ars-bot:1", "ars-bot:1")
                && is_same("docker.io/library/ars-bot:1", "ars-bot:1")
        );
        assert!(
            !is_same("docker.io/library/ars-bot:12", "ars-bot:1")
                && !is_same("my-ars-bot:1", "ars-bot:1")
        );
    }

    #[test]
    fn output_is_read_from_its_frames() {
        assert_eq!(
            lines(b"\x01\0\0\0\0\0\0\x03ab\n\x02\0\0\0\0\0\0\x02c\n"),
            "ab\nc\n"
        );
        assert_eq!(lines(b"\x01\0\0\0\0\0\0\x09cut"), "cut");
        assert_eq!(lines(b"\x01\0"), "");
    }
}
