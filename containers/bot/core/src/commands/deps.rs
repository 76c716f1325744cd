//! The dependencies that only commands have.

use std::sync::Arc;

use ars_bot_ports::{Residents, Schedules, Sources};
use ars_wire::health::Build;

/// Dependencies of commands. A command without its dependency is absent or unavailable.
#[derive(Clone, Default)]
pub struct CommandDeps {
    /// The build of the process.
    pub build: Option<Build>,
    /// The record of firings, where schedules are configured.
    pub schedules: Option<Arc<dyn Schedules>>,
    /// The residents. The commands of repositories and the residents pages need them.
    pub residents: Option<Arc<dyn Residents>>,
    /// Saved event streams, on the command line.
    pub sources: Option<Arc<dyn Sources>>,
}
