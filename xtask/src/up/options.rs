//! The `up` command line.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

/// Options of `cargo xtask up`.
#[derive(Debug, Args)]
pub struct Options {
    /// Once everything answers, write one JSON object with addresses and tokens to this file
    #[arg(long, value_name = "FILE")]
    pub ready_file: Option<PathBuf>,
    /// Do not demonstrate the main job
    #[arg(long)]
    pub no_demo: bool,
    /// Where run records go: the state Worker on workerd, or a database of the bot's own (needs no Node)
    #[arg(long, value_enum, default_value = "worker", value_name = "WHERE")]
    pub store: Store,
    /// Run the bot as deployed: in a container behind the edge Worker (Linux; Docker, or root on Debian)
    #[arg(long, conflicts_with = "model")]
    pub containers: bool,
    /// Keep the demonstration's repository warm in a resident, in a container (engine as above)
    #[arg(long)]
    pub residents: bool,
    /// Chat with the bot in a browser: start a Slack workspace of this machine's own, and print its page
    #[arg(long, conflicts_with = "containers")]
    pub slack: bool,
    /// The bot's port; the other parts use the next five (free ports when left out)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=65530))]
    pub port_base: Option<u16>,
    /// Keeps everything this command makes; `.ars` in the checkout when left out
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The bot's configuration
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Model of requests that name none
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub model: Option<String>,
}

/// Where run records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// The state Worker.
    Worker,
    /// The bot's own database.
    Embedded,
}

impl Options {
    /// Whether the bot will fall back on the rehearsal: nothing names a model.
    pub fn is_rehearsal(&self, variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| variable(name).is_some();
        // A self-hosted compatible server has no default model, so its address alone chooses none.
        let openai = set("OPENAI_API_KEY") && !set("OPENAI_BASE_URL");
        let vendor = set("ANTHROPIC_API_KEY") || set("ANTHROPIC_BASE_URL") || openai;
        match &self.model {
            Some(model) => model.starts_with("rehearsal/"),
            None => self.config.is_none() && !vendor,
        }
    }

    /// Whether the sample repository is added to the configuration.
    pub fn offers_sample(&self) -> bool {
        self.config.is_none() || !self.no_demo
    }

    /// Rejects options that exclude each other.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !(self.containers && self.store == Store::Embedded),
            "--containers keeps records in the state Worker: it does not go with --store embedded"
        );
        self.check_ports()
    }

    /// Rejects ports in use before anything is built.
    fn check_ports(&self) -> Result<()> {
        let Some(base) = self.port_base else {
            return Ok(());
        };
        let workers = if self.store == Store::Worker {
            base + 1..=base + 2
        } else {
            base..=base
        };
        let residents = self.residents.then_some(base + 4);
        let slack = self.slack.then_some(base + 5);
        let optional = residents.into_iter().chain(slack);
        for port in [base, base + 3].into_iter().chain(workers).chain(optional) {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .with_context(|| format!("port {port} cannot be had (--port-base)"))?;
        }
        Ok(())
    }

    /// The bot's port, unless it is free to choose.
    pub fn bot_port(&self) -> Option<u16> {
        self.port_base
    }

    /// The rehearsal host's port, unless it is free to choose.
    pub fn code_host_port(&self) -> Option<u16> {
        self.port_base.map(|base| base + 3)
    }

    /// The resident Worker's port; 0 lets the system choose.
    pub fn resident_port(&self) -> u16 {
        self.port_base.map_or(0, |base| base + 4)
    }

    /// The rehearsal workspace's port, unless it is free to choose.
    pub fn slack_port(&self) -> Option<u16> {
        self.port_base.map(|base| base + 5)
    }

    /// The edge Worker's port; 0 lets the system choose.
    pub fn edge_port(&self) -> u16 {
        self.port_base.map_or(0, |base| base + 2)
    }

    /// The state Worker's port; 0 lets the system choose.
    pub fn state_port(&self) -> u16 {
        self.port_base.map_or(0, |base| base + 1)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &[&str]) -> Options {
        Line::try_parse_from([&["up"], line].concat())
            .unwrap()
            .options
    }

    #[test]
    fn rehearsal_needs_no_model() {
        let plays = |line: &[&str], set: &[&str]| {
            options(line).is_rehearsal(|name| set.contains(&name).then(|| "x".to_owned()))
        };
        assert!(plays(&[], &[]) && plays(&["--model", "rehearsal/script"], &["ANTHROPIC_API_KEY"]));
        assert!(plays(&[], &["OPENAI_BASE_URL"]));
        assert!(!plays(&[], &["ANTHROPIC_BASE_URL"]) && !plays(&[], &["OPENAI_API_KEY"]));
        assert!(
            !plays(&["--model", "openai/llama"], &[]) && !plays(&["--config", "ars.toml"], &[])
        );
    }

    #[test]
    fn ports_follow_the_base_or_are_free() {
        let ports = |line: &[&str]| {
            let options = options(line);
            (
                options.bot_port(),
                options.state_port(),
                options.edge_port(),
                options.code_host_port(),
            )
        };
        assert_eq!(
            ports(&["--port-base", "8787"]),
            (Some(8787), 8788, 8789, Some(8790))
        );
        assert_eq!(ports(&[]), (None, 0, 0, None));
        for none in ["65531", "65535"] {
            assert!(Line::try_parse_from(["up", "--port-base", none]).is_err());
        }
    }

    #[test]
    fn residents_go_with_every_bot() {
        for line in [
            &["--residents", "--containers"][..],
            &["--residents", "--store", "embedded"],
        ] {
            assert!(options(line).check().is_ok(), "{line:?}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_refused() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let base = port.to_string();
        let refused = options(&["--port-base", &base])
            .check_ports()
            .unwrap_err()
            .to_string();
        assert!(refused.contains(&base), "{refused}");
    }
}
