//! The edge Worker: in front of the bot that runs here, or of the one it starts in a container.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ars_workerd::{Bot, Settings, Workerd, build_edge_worker, ensure_npm};

use super::data_dir::DataDir;
use super::http;
use super::options::Options;
use super::secrets::{INGRESS_TOKENS, MEMORY_TOKEN, Secrets};
use super::signals::Signals;
use crate::terminal::Step;

/// Longest wait for a bot behind the edge: as long as the edge itself waits (resident supplement section 13).
const HEALTH_LIMIT: Duration = Duration::from_secs(120);
/// How often it is asked.
const LOOK: Duration = Duration::from_millis(50);
/// What a bot in a container is given of this command's environment, with the operator's own secrets; the rest stays here.
const PASSED_ON: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "BRAVE_SEARCH_API_KEY",
    "RUST_LOG",
];

/// What the names of the operator's own secrets begin with, as the edge forwards them (`shared/edge`, `environment`).
const OWN_SECRETS: &str = "ARS_SECRET_";

/// The running Worker; stopped when dropped. A container it started is not.
pub struct Edge {
    workerd: Workerd,
}

impl Edge {
    /// Builds what is not built, and starts; `variables` are the container's as well.
    pub fn start(
        options: &Options,
        data: &DataDir,
        secrets: &Secrets,
        bot: Bot,
        variables: &[(&str, String)],
    ) -> Result<Self> {
        let step = Step::begin("edge Worker");
        let npm = ensure_npm(&|line| step.tell(line))?;
        let built = build_edge_worker(&|line| step.tell(line))?;
        let contained = matches!(bot, Bot::Container(_));
        let settings = Settings::edge(&npm, &built, data.join("edge"), bot)?;
        let mut settings = settings.secret(INGRESS_TOKENS, &secrets.ingress);
        if contained {
            settings = settings.secret(MEMORY_TOKEN, &secrets.state);
            for name in PASSED_ON {
                if let Some(value) = super::set(name) {
                    settings = settings.secret(name, &value);
                }
            }
            for (name, value) in own_secrets() {
                settings = settings.secret(&name, &value);
            }
        }
        for (name, value) in variables {
            settings = settings.secret(name, value);
        }
        settings.port = options.edge_port();
        // A container takes longer than a Worker; whoever needs the bot waits for it.
        settings.awaits_health = false;
        let workerd = Workerd::start(&settings)?;
        step.done(&format!("{} kB compressed, listens", built.gzip_bytes / 1000));
        Ok(Self { workerd })
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.workerd.url()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.workerd.is_running()
    }

    /// Waits until the bot answers through it.
    pub fn wait(&self, signals: &Signals) -> Result<()> {
        let began = Instant::now();
        while !http::is_healthy(&self.url()) {
            if signals.told() || began.elapsed() > HEALTH_LIMIT {
                bail!("no bot answers behind the edge (log: {})", self.workerd.log_path().display());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// What the operator's configuration may name as holding a secret.
fn own_secrets() -> impl Iterator<Item = (String, String)> {
    // What is no text is nobody's token.
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with(OWN_SECRETS))
}

/// Where a Worker listens that nothing but this machine is to reach.
pub const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
