//! The state Worker: built to wasm, and run on workerd with its Durable Objects on disk.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use ars_workerd::{Settings, Workerd, build_state_worker, ensure_npm};

use super::data_dir::DataDir;
use super::options::Options;
use super::secrets::{MEMORY_TOKEN, Secrets};
use crate::terminal::Step;

/// The running Worker; stopped when dropped.
pub struct State {
    workerd: Workerd,
}

impl State {
    /// Builds and starts it. `host` is the address of this machine by which its clients reach it.
    pub fn start(options: &Options, data: &DataDir, secrets: &Secrets, host: Ipv4Addr) -> Result<Self> {
        let step = Step::begin("tools of the edge");
        let npm = ensure_npm(&|line| step.update(line))?;
        step.done("");
        let step = Step::begin("state Worker");
        let built = build_state_worker(&|line| step.update(line))?;
        let mut settings = Settings::new(&npm, &built, data.state())?.secret(MEMORY_TOKEN, &secrets.state);
        settings.host = host;
        settings.port = options.state_port();
        let workerd = Workerd::start(&settings)?;
        step.done(&format!("{} kB compressed, answers", built.gzip_bytes / 1000));
        Ok(Self { workerd })
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.workerd.url()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.workerd.address().port()
    }

    /// Where it logs.
    pub fn log(&self) -> &Path {
        self.workerd.log_path()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.workerd.is_running()
    }
}
