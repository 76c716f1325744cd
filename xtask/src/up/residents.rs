//! `up --residents`: the resident Worker on workerd, with a container for each onboarded repository.
//!
//! Worker and containers ask the rehearsal host by this machine's address on the engine's bridge, and so does the bot,
//! because the address is part of a repository's identity. With `--containers` the Worker listens on that address too.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ars_engine::{Engine, Image, address_for_containers, resident_image};
use ars_workerd::{ResidentSetup, Workerd, build_resident_worker, ensure_npm, resident_settings};
use serde_json::{Value, json};

use super::code_host::RehearsalHost;
use super::data_dir::DataDir;
use super::options::Options;
use super::secrets::{ResidentTokens, Secrets};
use super::signals::Signals;
use super::{http, sample};
use crate::terminal::Step;

/// Shows a tree's commits that the code host does not have.
const COMMITS: &str = "git log --reverse --patch --format='%h %s' origin/main..HEAD";
/// Longest wait for a resident to serve. The first start includes the container's.
const SERVES_LIMIT: Duration = Duration::from_secs(300);
/// How often the resident's state is checked.
const LOOK: Duration = Duration::from_millis(50);
/// The answer to an accepted onboarding.
const ACCEPTED: u16 = 202;
/// The answer about a repository that has a resident.
const ALREADY: u16 = 409;

/// The engine and the resident image.
pub struct Ground {
    engine: Rc<Engine>,
    image: Image,
}

impl Ground {
    /// Builds the resident image.
    pub fn prepare(engine: Rc<Engine>) -> Result<Self> {
        let step = Step::begin("image of residents");
        let image = resident_image(&engine, &|line| step.update(line))?;
        step.done(&format!("{:.1} MB", image.bytes as f64 / 1e6));
        Ok(Self { engine, image })
    }

    /// Returns this machine's address that containers reach.
    pub fn gateway(&self) -> Ipv4Addr {
        self.engine.gateway()
    }
}

/// The running resident side; its containers are removed when this is dropped.
pub struct ResidentSide {
    // Ended first: it would start another container.
    worker: Option<Workerd>,
    engine: Rc<Engine>,
    /// Prefix for the containers' names.
    containers: String,
    fleet: Fleet,
}

impl ResidentSide {
    /// Builds and starts the Worker.
    pub fn start(
        ground: Ground,
        options: &Options,
        data: &DataDir,
        secrets: &Secrets,
        code_host: &RehearsalHost,
    ) -> Result<Self> {
        let Ground { engine, image } = ground;
        let step = Step::begin("resident Worker");
        let npm = ensure_npm(&|line| step.update(line))?;
        let built = build_resident_worker(&|line| step.update(line))?;
        let place = code_host.place();
        let setup = ResidentSetup {
            name: data.resident_name(),
            data_dir: data.residents(),
            engine: engine.of_edge(&image),
            code_host: &place.url,
            app: code_host.app(),
            tokens: secrets.residents.all(),
        };
        let mut settings = resident_settings(&npm, &built, setup)?;
        settings.port = options.resident_port();
        if options.containers {
            settings.host = engine.gateway();
        }
        let worker = Workerd::start(&settings)?;
        step.done(&format!(
            "{} kB compressed, answers",
            built.gzip_bytes / 1000
        ));
        let url = worker.url();
        let bot_url = match options.containers {
            true => address_for_containers(worker.address().port()),
            false => url.clone(),
        };
        let tokens = secrets.residents.clone();
        let fleet = Fleet {
            url,
            bot_url,
            tokens,
            code_host: place.url,
        };
        Ok(Self {
            worker: Some(worker),
            engine,
            containers: settings.containers_prefix(),
            fleet,
        })
    }

    /// Returns the resident side's interface.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Returns whether the Worker is still running.
    pub fn is_running(&mut self) -> bool {
        self.worker.as_mut().is_some_and(Workerd::is_running)
    }

    /// Returns whether the Worker ended since the last call.
    pub fn has_ended(&mut self) -> bool {
        self.worker.take_if(|worker| !worker.is_running()).is_some()
    }

    fn remove(&self) -> Result<()> {
        let found = self.engine.containers_named(&self.containers)?;
        found
            .iter()
            .try_for_each(|found| self.engine.remove(&found.id))
    }
}

impl Drop for ResidentSide {
    fn drop(&mut self) {
        drop(self.worker.take());
        if let Err(error) = self.remove() {
            eprintln!("containers of residents may be left: {error:#}");
        }
    }
}

/// The resident side's interface. No `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Fleet {
    url: String,
    /// The address by which the bot reaches it.
    bot_url: String,
    tokens: ResidentTokens,
    code_host: String,
}

impl Fleet {
    /// Returns the Worker's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the host and port to which the bot sends its bearers.
    pub fn host(&self) -> &str {
        self.bot_url
            .split_once("://")
            .map_or(self.bot_url.as_str(), |(_, host)| host)
    }

    /// Returns the fields for the ready file.
    pub fn ready(&self) -> Result<Value> {
        Ok(json!({ "url": self.url, "tokens": serde_json::to_value(&self.tokens)? }))
    }

    /// Returns the bot configuration's part that connects it.
    pub fn configuration(&self) -> String {
        let Self {
            bot_url, code_host, ..
        } = self;
        format!("\n[execution.resident]\nbaseUrl = \"{bot_url}\"\ncodeHostUrl = \"{code_host}\"\n")
    }

    /// Onboards the sample, and shows each state and step until it serves.
    pub fn onboard_sample(&self, signals: &Signals) -> Result<()> {
        let resource = sample_resource();
        let commands = json!({ "build": "true", "test": "python3 -m unittest" });
        let body = json!({ "resource": resource, "commands": commands, "defaultRef": "main" });
        let (status, answer) = self.post_as_admin("/onboard", &body)?;
        ensure!(
            status == ACCEPTED || status == ALREADY,
            "POST /onboard answered {status}: {answer}"
        );
        let began = Instant::now();
        let mut shown = String::new();
        loop {
            let live = self.live(&resource)?;
            let text = |field: &str| live[field].as_str().unwrap_or_default().to_owned();
            let (state, step) = (text("state"), text("step"));
            let line = format!("{state:<11} {step}");
            if line != shown {
                println!(
                    "  {:>5.1} s  {}",
                    began.elapsed().as_secs_f64(),
                    line.trim_end()
                );
                shown = line;
            }
            match state.as_str() {
                "warm" => return Ok(()),
                "down" => bail!("it cannot be onboarded: {}", text("reason")),
                _ if signals.received() => return Ok(()),
                _ => ensure!(
                    began.elapsed() < SERVES_LIMIT,
                    "it does not serve after {SERVES_LIMIT:?}"
                ),
            }
            thread::sleep(LOOK);
        }
    }

    /// Returns the commits in the sample's last attached tree, as patches.
    pub fn commits(&self) -> Result<String> {
        let resource = sample_resource();
        let live = self.live(&resource)?;
        let thread = &live["threads"][0]["threadKey"];
        let body = json!({ "resource": resource, "threadKey": thread, "command": COMMITS });
        let (status, answer) = self.post_as_operator("/exec", &body)?;
        let shown = answer["stdout"]
            .as_str()
            .filter(|_| answer["exitCode"] == 0);
        shown
            .map(str::to_owned)
            .with_context(|| format!("POST /exec answered {status}: {answer}"))
    }

    /// Returns all residents with their views.
    pub fn residents(&self) -> Result<Vec<Value>> {
        let (status, listed) = http::get_with(&self.at("/residents"), &self.tokens.read)?;
        ensure!(status == 200, "GET /residents answered {status}");
        Ok(listed["residents"].as_array().cloned().unwrap_or_default())
    }

    /// Returns a resident's live view.
    pub fn live(&self, resource: &str) -> Result<Value> {
        let found = self
            .residents()?
            .into_iter()
            .find(|row| row["resource"] == resource);
        found
            .map(|row| row["live"].clone())
            .with_context(|| format!("{resource} has no resident any more"))
    }

    /// Posts to an operators' route.
    pub fn post_as_operator(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        http::post(&self.at(path), &self.tokens.operator, body)
    }

    /// Posts to an administrators' route.
    pub fn post_as_admin(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        http::post(&self.at(path), &self.tokens.admin, body)
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

fn sample_resource() -> String {
    format!("repo:{}", sample::NAME)
}
