//! The service: sets up the parts, demonstrates and serves.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ars_engine::Engine;
use ars_workerd::Workerd;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::bot::{self, Bot, Launch};
use super::containers::Contained;
use super::dashboard::Dashboard;
use super::data_dir::DataDir;
use super::demo::{self, Demo, Trees};
use super::environment::set;
use super::hosts::Hosts;
use super::interrupted::Interrupted;
use super::options::{Options, Store};
use super::ready::{self, Addresses};
use super::residents::{Fleet, Ground};
use super::secrets::{Secrets, Token};
use super::signals::Signals;
use super::slack::{self, RehearsalSlack};
use super::{config, empty_databases, sample, sandbox, stale_processes, workers};
use crate::terminal::Step;
use crate::{cargo, image};

/// How often the parts are looked at while serving.
const LOOK: Duration = Duration::from_millis(100);

/// Starts everything and serves.
pub fn run(options: &Options) -> Result<()> {
    let signals = Signals::listen()?;
    let done = start(options, &signals);
    match done {
        // A signal during set-up ends whatever was running; the error only echoes that.
        Err(_) if signals.received() => Err(Interrupted.into()),
        done => done,
    }
}

fn start(options: &Options, signals: &Signals) -> Result<()> {
    let began = Instant::now();
    // The environment has model keys. The user's other processes could read it otherwise.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    ready::withdraw(options)?;
    options.check()?;
    let data = DataDir::claim(options.data_dir.as_deref())?;
    stale_processes::end(&data)?;
    if let Err(error) = empty_databases::remove(&data.state()) {
        eprintln!("empty databases of ended runs stay: {error}");
    }
    let secrets = Secrets::load(&data)?;
    if !options.containers {
        sandbox::install();
    }
    let step = Step::begin("bot");
    let ars = cargo::build(bot::TARGET, &step)?;
    step.done("built");
    let up = Up {
        options,
        signals,
        data: &data,
        secrets: &secrets,
        ars,
        began,
    };
    if options.containers {
        up.contained()
    } else {
        up.native()
    }
}

/// The parts common to both ways to run the bot.
struct Up<'a> {
    options: &'a Options,
    signals: &'a Signals,
    data: &'a DataDir,
    secrets: &'a Secrets,
    ars: PathBuf,
    began: Instant,
}

impl Up<'_> {
    /// Returns the engine and the resident image, if there are any.
    fn ground(&self, engine: Option<&Rc<Engine>>) -> Result<Option<Ground>> {
        if !self.options.residents {
            return Ok(None);
        }
        let engine = match engine {
            Some(engine) => Rc::clone(engine),
            None => Rc::new(image::engine()?),
        };
        Ground::prepare(engine).map(Some)
    }

    /// Runs the bot as a process on this machine.
    fn native(self) -> Result<()> {
        let Self {
            options,
            signals,
            data,
            secrets,
            ..
        } = self;
        let mut hosts = Hosts::start(options, data, secrets, self.ground(None)?)?;
        let fleet = hosts.fleet();
        let mut added = fleet
            .as_ref()
            .map_or_else(String::new, Fleet::configuration);
        if hosts.slack().is_some() {
            added.push_str(slack::CONFIGURATION);
        }
        let config = config::write(options, data, hosts.sample(), &added)?;
        let mut state = match options.store {
            Store::Worker => Some(workers::start_state(
                options,
                data,
                secrets,
                Ipv4Addr::LOCALHOST,
            )?),
            Store::Embedded => None,
        };
        let step = Step::begin("service");
        let state_url = state.as_ref().map(Workerd::url);
        let launch = Launch {
            ars: &self.ars,
            options,
            data,
            secrets,
            state_url,
            code_host: hosts.code_host(),
            slack: hosts.slack(),
            config: &config,
        };
        let mut bot = Bot::start(&launch)?;
        step.done("answers");
        // The edge needs the tools that the state Worker needs.
        let edge = match options.store {
            Store::Worker => {
                let native = ars_workerd::Bot::Native(bot.url().to_owned());
                Some(workers::start_edge(
                    options.edge_port(),
                    data,
                    secrets,
                    native,
                    &[],
                )?)
            }
            Store::Embedded => None,
        };
        let addresses = Addresses {
            bot: bot.url().to_owned(),
            state: state.as_ref().map(Workerd::url),
            edge: edge.as_ref().map(Workerd::url),
            code_host: hosts.place(),
            residents: fleet.clone(),
            slack: hosts.slack().map(RehearsalSlack::workspace),
        };
        let sandbox = sandbox::lines(&self.ars, &addresses.bot, &config, &data.bot());
        let trees = fleet.map_or_else(
            || Trees::Local {
                data: data.bot(),
                config,
            },
            Trees::Resident,
        );
        self.serving(&addresses, state.as_ref(), Some(trees), Some(&sandbox))?;
        let ended = watch(signals, &mut bot, state.as_mut(), &mut hosts);
        let withdrawn = ready::withdraw(options);
        drop(edge);
        bot.stop(signals);
        hosts.save(signals);
        // The bot stops first, because it writes its last records to the state Worker.
        drop(state);
        ended.and(withdrawn)
    }

    /// The bot in a container behind the edge.
    fn contained(self) -> Result<()> {
        let Self {
            options,
            signals,
            data,
            secrets,
            ..
        } = self;
        let engine = Rc::new(image::engine()?);
        let mut hosts = match self.ground(Some(&engine))? {
            Some(ground) => Some(Hosts::start(options, data, secrets, Some(ground))?),
            None => None,
        };
        let mut service =
            Contained::start(options, data, secrets, signals, engine, hosts.as_ref())?;
        let url = service.url();
        let fleet = hosts.as_ref().and_then(Hosts::fleet);
        let addresses = Addresses {
            bot: url.clone(),
            state: Some(service.state().url()),
            edge: Some(url),
            code_host: hosts.as_ref().and_then(Hosts::place),
            residents: fleet.clone(),
            slack: None,
        };
        self.serving(
            &addresses,
            Some(service.state()),
            fleet.map(Trees::Resident),
            None,
        )?;
        let ended = service.watch(signals, hosts.as_mut());
        let withdrawn = ready::withdraw(options);
        let stopped = service.stop();
        if let Some(hosts) = &mut hosts {
            hosts.save(signals);
        }
        ended.and(withdrawn).and(stopped)
    }

    /// Reports readiness and runs the demonstration. `trees` are the coding run's trees, `sandbox`
    /// the lines about the sandbox for a bot on this machine.
    fn serving(
        &self,
        addresses: &Addresses,
        state: Option<&Workerd>,
        trees: Option<Trees>,
        sandbox: Option<&[String]>,
    ) -> Result<()> {
        let Self {
            options,
            signals,
            data,
            secrets,
            ..
        } = self;
        signals.serving()?;
        let dashboard = Dashboard::new(options, &addresses.bot, secrets)?;
        ready::announce(options, addresses, &dashboard, secrets)?;
        print_next_steps(addresses, &dashboard, state, data, sandbox, self.began);
        let guide = Guide {
            bot: addresses.bot.clone(),
            caller: secrets.caller().cloned(),
            operator: secrets.operator().cloned(),
            viewer: dashboard.token.clone(),
            knows_sample: trees.is_some() && options.offers_sample(),
        };
        let demo = (!options.no_demo).then(|| Demo {
            ars: self.ars.clone(),
            bot: addresses.bot.clone(),
            dashboard,
            trees,
            code_host: addresses.code_host.clone(),
            is_rehearsal: options.is_rehearsal(set),
        });
        talk(demo, guide, (*signals).clone());
        Ok(())
    }
}

fn print_next_steps(
    addresses: &Addresses,
    dashboard: &Dashboard,
    state: Option<&Workerd>,
    data: &DataDir,
    sandbox: Option<&[String]>,
    began: Instant,
) {
    println!("\nready in {:.1} s\n", began.elapsed().as_secs_f64());
    println!("  runs      {}", dashboard.link("/runs"));
    println!("  ingress   {}/ingress", addresses.bot);
    if let Some(edge) = addresses
        .edge
        .as_ref()
        .filter(|edge| **edge != addresses.bot)
    {
        println!("  edge      {edge}  (the way of a deployment; the ingress above needs none)");
    }
    if let Some(state) = state {
        println!(
            "  state     {}  (workerd, log: {})",
            state.url(),
            state.log_path().display()
        );
    }
    if let Some(host) = &addresses.code_host {
        println!(
            "  code host {}  (a rehearsal: bare repositories in {})",
            host.url,
            host.root.display()
        );
    }
    if let Some(fleet) = &addresses.residents {
        println!(
            "  residents {}  (a container for each onboarded repository)",
            fleet.url()
        );
    }
    if let Some(workspace) = &addresses.slack {
        println!("  chat      {}  (a rehearsal of Slack)", workspace.page);
    }
    println!("  data      {}", data.path().display());
    // A container's bot has its own log, and runs no command.
    let Some(sandbox) = sandbox else { return };
    println!("  log       {}", data.log().display());
    for (index, line) in sandbox.iter().enumerate() {
        println!("  {:<9} {line}", if index == 0 { "sandbox" } else { "" });
    }
}

/// Demonstrates and invites, beside the watch over the parts. The thread ends with the process.
fn talk(demo: Option<Demo>, guide: Guide, signals: Signals) {
    thread::spawn(move || {
        if let Some(demo) = demo {
            demo.show(guide.caller.as_ref(), &signals);
        }
        if !signals.received() {
            println!("\n{}\nServing until Ctrl-C.", guide.invitation());
        }
    });
}

/// Prints the next steps for a user.
struct Guide {
    bot: String,
    caller: Option<Token>,
    operator: Option<Token>,
    viewer: Option<String>,
    knows_sample: bool,
}

impl Guide {
    fn invitation(&self) -> String {
        let Some(caller) = &self.caller else {
            return "No configured token may dispatch: give one the scope `dispatch`.\n".to_owned();
        };
        let text = if self.knows_sample {
            format!("agent:coding repo:{} {}", sample::NAME, demo::REQUEST)
        } else {
            "What can you do?".to_owned()
        };
        let opens_pages = |token: &Token| {
            self.viewer
                .as_deref()
                .is_none_or(|secret| secret == token.token)
        };
        let operator = self.operator.as_ref().filter(|token| opens_pages(token));
        let (token, uses) = match (operator, &self.operator) {
            (Some(operator), _) => (
                operator,
                "for requests, commands and the run pages, until the next start",
            ),
            (None, Some(operator)) => (operator, "for requests and commands"),
            (None, None) => (caller, "for requests"),
        };
        let names = format!("export BOT={} TOKEN={}", self.bot, token.token);
        let request = |body: &str| {
            format!(
                "  curl -sS $BOT/ingress -H \"Authorization: Bearer $TOKEN\" \\\n    -d '{body}'\n"
            )
        };
        let talk = request(&format!("{{\"text\":\"{text}\",\"thread\":\"mine\"}}"));
        let mut lines = format!(
            "The token `{}`, {uses}:\n\n  {names}\n\nTalk to it:\n\n{talk}",
            token.subject
        );
        if self.operator.is_some() {
            lines.push_str(&format!(
                "\nSee its commands:\n\n{}",
                request("{\"text\":\"help\"}")
            ));
        }
        if operator.is_some() {
            lines.push_str(
                "\nThe same from the command line:\n\n  export ARS_TOKEN=$TOKEN\n  cargo run -qp ars -- ask --server \
                 $BOT \"What can you do?\"\n  cargo run -qp ars -- runs list --status all --server $BOT\n",
            );
        } else if let Some(viewer) = &self.viewer {
            lines.push_str(&format!(
                "\nList its runs with the secret of the run pages:\n\n  curl -sS \"$BOT/api/runs.list?status=all\" \
                 -H 'Authorization: Bearer {viewer}'\n"
            ));
        }
        lines
    }
}

/// Serves until a signal comes or a part dies.
fn watch(
    signals: &Signals,
    bot: &mut Bot,
    mut state: Option<&mut Workerd>,
    hosts: &mut Hosts,
) -> Result<()> {
    while !signals.received() {
        if let Some(status) = bot.exited()? {
            bail!(
                "the bot ended unexpectedly ({status}); end of its log:\n{}",
                bot.log_tail()
            );
        }
        if let Some(ended) = state.take_if(|state| !state.is_running()) {
            let log = ended.log_path().display();
            eprintln!(
                "\nThe state Worker ended unexpectedly (log: {log}). The bot continues, but its records are lost."
            );
        }
        hosts.report_ended();
        thread::sleep(LOOK);
    }
    eprintln!("\nstopping (again to stop at once)");
    Ok(())
}
