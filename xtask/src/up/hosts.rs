//! The parts beside the bot: the rehearsal host, the resident side and the rehearsal workspace.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};

use super::code_host::{self, Place, RehearsalHost};
use super::data_dir::DataDir;
use super::environment::set;
use super::options::Options;
use super::residents::{Fleet, Ground, ResidentSide};
use super::sample::{self, Home};
use super::saving;
use super::secrets::Secrets;
use super::signals::Signals;
use super::slack::RehearsalSlack;
use crate::cargo;
use crate::terminal::Step;

/// Hosts that are running.
pub struct Hosts {
    // Ended first: the containers fetch from the code host.
    residents: Option<ResidentSide>,
    code_host: Option<RehearsalHost>,
    slack: Option<RehearsalSlack>,
    sample: String,
}

impl Hosts {
    /// Starts the rehearsal host, unless the environment names a real host.
    ///
    /// With `ground` it starts the resident side too.
    pub fn start(
        options: &Options,
        data: &DataDir,
        secrets: &Secrets,
        ground: Option<Ground>,
    ) -> Result<Self> {
        let slack = RehearsalSlack::start(options, data, set)?;
        if !code_host::is_wanted(set) {
            ensure!(
                ground.is_none(),
                "--residents uses the rehearsal host: unset the variables of GitHub"
            );
            let place = sample::make(data, Home::DataDirectory)?;
            let sample = place.to_string_lossy().into_owned();
            return Ok(Self {
                residents: None,
                code_host: None,
                slack,
                sample,
            });
        }
        let address = ground.as_ref().map_or(Ipv4Addr::LOCALHOST, Ground::gateway);
        let step = Step::begin("code host");
        let binary = cargo::build(code_host::TARGET, &step)?;
        sample::make(data, Home::RehearsalHost)?;
        let host = RehearsalHost::start(&binary, options, data, address)?;
        step.done("a rehearsal, on this machine only");
        let residents = match ground {
            Some(ground) => Some(ResidentSide::start(ground, options, data, secrets, &host)?),
            None => None,
        };
        Ok(Self {
            residents,
            sample: host.place().sample(),
            code_host: Some(host),
            slack,
        })
    }

    /// Returns the rehearsal host, if there is any.
    pub fn code_host(&self) -> Option<&RehearsalHost> {
        self.code_host.as_ref()
    }

    /// Returns the rehearsal workspace, if there is any.
    pub fn slack(&self) -> Option<&RehearsalSlack> {
        self.slack.as_ref()
    }

    /// Returns where the rehearsal host is.
    pub fn place(&self) -> Option<Place> {
        self.code_host.as_ref().map(RehearsalHost::place)
    }

    /// Returns the resident side's interface.
    pub fn fleet(&self) -> Option<Fleet> {
        self.residents.as_ref().map(|side| side.fleet().clone())
    }

    /// Returns the sample's origin: on the rehearsal host, or in the data directory.
    pub fn sample(&self) -> &str {
        &self.sample
    }

    /// Saves the work on residents, before their containers are removed.
    pub fn save(&mut self, signals: &Signals) {
        if let Some(side) = &mut self.residents
            && side.is_running()
        {
            saving::save(side.fleet(), signals);
        }
    }

    /// Reports a part that ended, once. The bot continues without it.
    pub fn report_ended(&mut self) {
        if self.code_host.take_if(|host| !host.is_running()).is_some() {
            eprintln!(
                "\nThe code host ended unexpectedly. The bot continues, without pull requests and clones."
            );
        }
        if self.slack.take_if(|slack| !slack.is_running()).is_some() {
            eprintln!("\nThe Slack workspace ended unexpectedly. The bot continues, without chat.");
        }
        if self.residents.as_mut().is_some_and(ResidentSide::has_ended) {
            eprintln!(
                "\nThe resident Worker ended unexpectedly. The bot continues on local working trees."
            );
        }
    }
}
