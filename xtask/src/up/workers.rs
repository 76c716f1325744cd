//! The Workers: the state Worker, and the edge in front of the bot.
//!
//! The bot runs here, or the edge starts it in a container.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ars_proxy::environment;
use ars_workerd::{Bot, Settings, Workerd, build_edge_worker, build_state_worker, ensure_npm};

use super::data_dir::DataDir;
use super::http;
use super::options::Options;
use super::secrets::{DASHBOARD_TOKEN, INGRESS_TOKENS, MEMORY_TOKEN, Secrets};
use super::signals::Signals;
use crate::terminal::Step;

/// Timeout for the bot behind the edge, equal to the edge's own.
const HEALTH_LIMIT: Duration = Duration::from_secs(120);
/// The variable that the edge itself gives a container.
const PORT: &str = "PORT";
/// How often it is asked.
const LOOK: Duration = Duration::from_millis(50);

/// Builds and starts the state Worker, with its Durable Objects on disk. `host` is this machine's
/// address by which clients reach it.
pub fn start_state(
    options: &Options,
    data: &DataDir,
    secrets: &Secrets,
    host: Ipv4Addr,
) -> Result<Workerd> {
    let step = Step::begin("tools of the edge");
    let npm = ensure_npm(&|line| step.update(line))?;
    step.done("");
    let step = Step::begin("state Worker");
    let built = build_state_worker(&|line| step.update(line))?;
    let mut settings =
        Settings::new(&npm, &built, data.state())?.secret(MEMORY_TOKEN, &secrets.state);
    settings.host = host;
    settings.port = options.state_port();
    let workerd = Workerd::start(&settings)?;
    step.done(&format!(
        "{} kB compressed, answers",
        built.gzip_bytes / 1000
    ));
    Ok(workerd)
}

/// Builds and starts the edge Worker on a port; its container also gets `variables` and outlives it.
pub fn start_edge(
    port: u16,
    data: &DataDir,
    secrets: &Secrets,
    bot: Bot,
    variables: &[(&str, String)],
) -> Result<Workerd> {
    let step = Step::begin("edge Worker");
    let npm = ensure_npm(&|line| step.update(line))?;
    let built = build_edge_worker(&|line| step.update(line))?;
    let contained = matches!(bot, Bot::Container(_));
    let settings = Settings::edge(&npm, &built, data.join("edge"), bot)?;
    let mut settings = settings.secret(INGRESS_TOKENS, &secrets.ingress);
    if contained {
        settings.wrangler.name = data.edge_name();
        settings = settings
            .secret(MEMORY_TOKEN, &secrets.state)
            .secret(DASHBOARD_TOKEN, &secrets.dashboard);
        for (name, value) in passed_on(variables) {
            settings = settings.secret(&name, &value);
        }
    }
    for (name, value) in variables {
        settings = settings.secret(name, value);
    }
    settings.port = port;
    // A container takes longer to start than a Worker, so its users wait for it.
    settings.awaits_health = false;
    let workerd = Workerd::start(&settings)?;
    step.done(&format!(
        "{} kB compressed, listens",
        built.gzip_bytes / 1000
    ));
    Ok(workerd)
}

/// Waits until the bot answers through the edge.
pub fn wait(edge: &Workerd, signals: &Signals) -> Result<()> {
    let began = Instant::now();
    while !http::is_healthy(&edge.url()) {
        if signals.received() || began.elapsed() > HEALTH_LIMIT {
            bail!(
                "no bot answers behind the edge (log: {})",
                edge.log_path().display()
            );
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Returns the part of this command's environment that a bot in a container receives.
/// These are the variables that the edge forwards, except those that `up` sets.
fn passed_on(decided: &[(&str, String)]) -> Vec<(String, String)> {
    // Values that are not UTF-8 are skipped.
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let texts: Vec<_> = texts.collect();
    let forwarded = environment::for_container(
        texts
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let is_decided = |name: &str| {
        // The port belongs to the container, so it is no variable to pass on.
        [INGRESS_TOKENS, MEMORY_TOKEN, DASHBOARD_TOKEN, PORT].contains(&name)
            || decided.iter().any(|(known, _)| *known == name)
    };
    let left = forwarded.into_iter().filter(|(name, _)| !is_decided(name));
    left.map(|(name, value)| (name.to_owned(), value)).collect()
}
