//! `up --containers`: the bot as it is deployed, in a container that the edge Worker starts.
//!
//! The container reaches the state Worker by this machine's address on the engine's bridge and
//! reads the configuration there. It has neither git nor a shell, so it works on repositories only
//! with `--residents`: on the resident Worker, which it reaches in the same way.

use std::fs;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ars_engine::{Container, Engine, address_for_containers};
use ars_workerd::{Bot, Workerd, repo_root};
use serde_json::{Value, json};

use super::config::{self, Effective};
use super::data_dir::DataDir;
use super::environment::set;
use super::hosts::Hosts;
use super::options::Options;
use super::secrets::Secrets;
use super::signals::Signals;
use super::{bot, http, ports, workers};
use crate::image;
use crate::terminal::Step;

/// The variable with the hosts to which a state Worker document may send secrets.
const CONFIG_HOSTS: &str = "CONFIG_HOSTS";
/// The configuration document's key, which is the bot's name for it.
const CONFIG_KEY: &str = "base";
const CONFIG: &str = "state://base";
/// The rehearsal script without residents.
const REHEARSAL: &str = "xtask/sample/rehearsal-container.toml";
/// The edge's name among the kept ports: links to run pages have it.
const PART: &str = "edge";
/// Longest wait for runs in flight to end.
const STOP_SECONDS: u64 = 50;
/// How often the parts are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The running parts; the container is removed when this is dropped.
pub struct Contained {
    // Ended first: it would start another container.
    edge: Option<Workerd>,
    engine: Rc<Engine>,
    /// Name prefix for this edge's containers.
    containers: String,
    state: Workerd,
}

impl Contained {
    /// Builds and starts everything. `hosts` are the residents and their code host.
    pub fn start(
        options: &Options,
        data: &DataDir,
        secrets: &Secrets,
        signals: &Signals,
        engine: Rc<Engine>,
        hosts: Option<&Hosts>,
    ) -> Result<Self> {
        let image = image::build(&engine)?;
        let state = workers::start_state(options, data, secrets, engine.gateway())?;
        let (format, text) = configuration(options, hosts)?;
        configure(&state.url(), &secrets.state, format, &text)?;
        let containers = format!("workerd-{}-", data.edge_name());
        let mut contained = Self {
            edge: None,
            engine,
            containers,
            state,
        };
        // An earlier start's container has that start's environment.
        contained.remove()?;
        let wanted = Some(options.edge_port()).filter(|port| *port != 0);
        let port = ports::choose(data, PART, Ipv4Addr::LOCALHOST, wanted)?;
        let mut variables = vec![
            (
                "STATE_WORKER_URL",
                address_for_containers(contained.state.address().port()),
            ),
            ("SERVICE_CONFIG", CONFIG.to_owned()),
        ];
        if set(bot::PUBLIC_BASE_URL).is_none() {
            variables.push((
                bot::PUBLIC_BASE_URL,
                format!("http://{}:{port}", Ipv4Addr::LOCALHOST),
            ));
        }
        if let Some(hosts) = hosts {
            let bearers = secrets.residents.of_bot().into_iter();
            let of_code_host = hosts
                .code_host()
                .into_iter()
                .flat_map(|host| host.variables());
            variables.extend(
                bearers
                    .chain(of_code_host)
                    .map(|(name, value)| (name, value.to_owned())),
            );
            // A container's configuration is a document, which sends bearers to listed hosts only.
            if let Some(fleet) = hosts.fleet() {
                let listed = std::env::var(CONFIG_HOSTS)
                    .into_iter()
                    .chain([fleet.host().to_owned()]);
                variables.push((CONFIG_HOSTS, listed.collect::<Vec<_>>().join(",")));
            }
        }
        let bot = Bot::Container(contained.engine.of_edge(&image));
        let edge = contained
            .edge
            .insert(workers::start_edge(port, data, secrets, bot, &variables)?);
        let step = Step::begin("container");
        if let Err(error) = workers::wait(edge, signals) {
            let logs = contained.logs().unwrap_or_default();
            return Err(error.context(format!("the container's log:\n{logs}")));
        }
        step.done("answers");
        Ok(contained)
    }

    /// The edge's address, which is the bot's.
    pub fn url(&self) -> String {
        self.edge.as_ref().map(Workerd::url).unwrap_or_default()
    }

    /// Returns the state Worker.
    pub fn state(&self) -> &Workerd {
        &self.state
    }

    /// Serves until a signal comes or a part dies. A container that ends is started again by the edge.
    pub fn watch(&mut self, signals: &Signals, mut hosts: Option<&mut Hosts>) -> Result<()> {
        while !signals.received() {
            ensure!(
                self.edge.as_mut().is_some_and(Workerd::is_running),
                "the edge Worker ended unexpectedly"
            );
            ensure!(
                self.state.is_running(),
                "the state Worker ended unexpectedly"
            );
            if let Some(hosts) = &mut hosts {
                hosts.report_ended();
            }
            thread::sleep(LOOK);
        }
        eprintln!("\nstopping (again to stop at once)");
        Ok(())
    }

    /// Shuts the bot down. Runs that exceed the limit are resumed at the next start.
    pub fn stop(mut self) -> Result<()> {
        drop(self.edge.take());
        for container in self.containers()?.into_iter().filter(|found| found.running) {
            self.engine.stop(&container.id, STOP_SECONDS)?;
        }
        Ok(())
    }

    /// Returns this edge's containers from any image: others on this machine have their own names.
    fn containers(&self) -> Result<Vec<Container>> {
        self.engine.containers_named(&self.containers)
    }

    fn logs(&self) -> Result<String> {
        let containers = self.containers()?;
        let logs = containers
            .iter()
            .map(|container| self.engine.logs(&container.id));
        Ok(logs.collect::<Result<Vec<_>>>()?.join("\n"))
    }

    fn remove(&self) -> Result<()> {
        self.containers()?
            .iter()
            .try_for_each(|found| self.engine.remove(&found.id))
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        drop(self.edge.take());
        if let Err(error) = self.remove() {
            eprintln!("the bot's container may be left: {error:#}");
        }
    }
}

/// Returns the configuration's format and text.
///
/// It is the user's own with the residents, or a configuration with the rehearsal when nothing
/// names a model.
fn configuration(options: &Options, hosts: Option<&Hosts>) -> Result<(&'static str, String)> {
    let found = Effective::read(options)?;
    let format = found.format;
    let own = match hosts {
        Some(hosts) => {
            let added = hosts.fleet().map(|fleet| fleet.configuration());
            config::completed(options, found, hosts.sample(), &added.unwrap_or_default())?
        }
        None => found.text,
    };
    if !options.is_rehearsal(set) {
        return Ok((format, own));
    }
    ensure!(
        format == "toml",
        "a rehearsal is added to TOML files only: name a model of your own"
    );
    let script = if hosts.is_some() {
        bot::REHEARSAL
    } else {
        REHEARSAL
    };
    let script = fs::read_to_string(repo_root().join(script)).context(script)?;
    let rehearsal = toml::toml! { type = "rehearsal" };
    let mut providers =
        toml::Table::from_iter([("rehearsal".to_owned(), toml::Value::Table(rehearsal))]);
    if let Some(toml::Value::Table(rehearsal)) = providers.get_mut("rehearsal") {
        rehearsal.insert("script_text".to_owned(), toml::Value::String(script));
    }
    let added = toml::Table::from_iter([("providers".to_owned(), toml::Value::Table(providers))]);
    Ok((format, format!("{own}\n{}", toml::to_string(&added)?)))
}

/// Puts a configuration where a bot with `SERVICE_CONFIG=state://base` reads it; returns the new
/// version.
///
/// `format` is the document's key: `toml`, `yaml` or `json`.
pub fn configure(state: &str, token: &str, format: &str, text: &str) -> Result<u64> {
    let ask = |path: &str, body: Value| -> Result<Value> {
        let (status, answer) = http::post(&format!("{state}{path}"), token, &body)?;
        if status != 200 {
            bail!("POST {path} answered {status}");
        }
        Ok(answer)
    };
    let known = ask("/config/get", json!({"key": CONFIG_KEY}))?;
    let document = json!({ format: text });
    let version = known["version"].as_u64().unwrap_or_default();
    if known["document"] == document {
        return Ok(version);
    }
    let put = ask(
        "/config/put",
        json!({"key": CONFIG_KEY, "document": document, "expectedVersion": version}),
    )?;
    put["version"]
        .as_u64()
        .context("POST /config/put answered without a version")
}
