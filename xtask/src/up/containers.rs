//! `up --containers`: the bot as it is deployed, in a container that the edge Worker starts.
//!
//! The container reaches the state Worker by this machine's address on the engine's bridge and reads its configuration
//! there. It has neither git nor a shell, so it serves no work on a repository.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ars_engine::{Container, Engine, address_for_containers};
use ars_workerd::{Bot, Workerd, repo_root};
use serde_json::{Value, json};

use super::config::Effective;
use super::data_dir::DataDir;
use super::environment::set;
use super::http;
use super::options::Options;
use super::secrets::Secrets;
use super::signals::Signals;
use super::workers;
use crate::image;
use crate::terminal::Step;

/// The configuration's document, and its name for the bot.
const CONFIG_KEY: &str = "base";
const CONFIG: &str = "state://base";
/// The rehearsal's configuration.
const REHEARSAL: &str = "xtask/sample/rehearsal-container.toml";
/// Longest wait for runs in flight to end.
const STOP_SECONDS: u64 = 50;
/// How often the parts are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The running parts; the container is removed when this is dropped.
pub struct Contained {
    // Ended first: it would start another container.
    edge: Option<Workerd>,
    engine: Engine,
    /// Prefix of the names of this edge's containers.
    containers: String,
    state: Workerd,
}

impl Contained {
    /// Sets up, builds and starts everything.
    pub fn start(options: &Options, data: &DataDir, secrets: &Secrets, signals: &Signals) -> Result<Self> {
        let (engine, image) = image::build()?;
        let state = workers::start_state(options, data, secrets, engine.gateway())?;
        let (format, text) = configuration(options)?;
        configure(&state.url(), &secrets.state, format, &text)?;
        let containers = format!("workerd-{}-", data.edge_name());
        let mut contained = Self { edge: None, engine, containers, state };
        // A container of an earlier start has that start's environment.
        contained.remove()?;
        let variables = [
            ("STATE_WORKER_URL", address_for_containers(contained.state.address().port())),
            ("SERVICE_CONFIG", CONFIG.to_owned()),
        ];
        let bot = Bot::Container(contained.engine.of_edge(&image));
        let edge = contained.edge.insert(workers::start_edge(options, data, secrets, bot, &variables)?);
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

    /// The state Worker.
    pub fn state(&self) -> &Workerd {
        &self.state
    }

    /// Serves until a signal comes or a part dies. A container that ends is started again by the edge.
    pub fn watch(&mut self, signals: &Signals) -> Result<()> {
        while !signals.received() {
            ensure!(
                self.edge.as_mut().is_some_and(Workerd::is_running),
                "the edge Worker ended unexpectedly"
            );
            ensure!(self.state.is_running(), "the state Worker ended unexpectedly");
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

    /// Those of this edge, of whichever image: others on this machine have names of their own.
    fn containers(&self) -> Result<Vec<Container>> {
        self.engine.containers_named(&self.containers)
    }

    fn logs(&self) -> Result<String> {
        let containers = self.containers()?;
        let logs = containers.iter().map(|container| self.engine.logs(&container.id));
        Ok(logs.collect::<Result<Vec<_>>>()?.join("\n"))
    }

    fn remove(&self) -> Result<()> {
        self.containers()?.iter().try_for_each(|found| self.engine.remove(&found.id))
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

/// The user's own, or one with the rehearsal when nothing names a model, and its format.
fn configuration(options: &Options) -> Result<(&'static str, String)> {
    let Effective { format, text: own, .. } = Effective::of(options)?;
    if !options.is_rehearsal(set) {
        return Ok((format, own));
    }
    ensure!(format == "toml", "a rehearsal is added to TOML files only: name a model of your own");
    let script = fs::read_to_string(repo_root().join(REHEARSAL)).context(REHEARSAL)?;
    let rehearsal = toml::toml! { type = "rehearsal" };
    let mut providers = toml::Table::from_iter([("rehearsal".to_owned(), toml::Value::Table(rehearsal))]);
    if let Some(toml::Value::Table(rehearsal)) = providers.get_mut("rehearsal") {
        rehearsal.insert("script_text".to_owned(), toml::Value::String(script));
    }
    let added = toml::Table::from_iter([("providers".to_owned(), toml::Value::Table(providers))]);
    Ok((format, format!("{own}\n{}", toml::to_string(&added)?)))
}

/// Puts a configuration where a bot with `SERVICE_CONFIG=state://base` reads it; the version it is now.
///
/// `format` is the key of the document: `toml`, `yaml` or `json`.
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
    let put =
        ask("/config/put", json!({"key": CONFIG_KEY, "document": document, "expectedVersion": version}))?;
    put["version"].as_u64().context("POST /config/put answered without a version")
}
