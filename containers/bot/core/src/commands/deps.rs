//! The dependencies that only commands have.

use std::sync::Arc;

use ars_bot_ports::{Residents, Schedules, Sources};
use ars_wire::health::Build;

/// Command dependencies. A command whose dependency is missing is absent or unavailable.
#[derive(Clone, Default)]
pub struct CommandDeps {
    /// The process build.
    pub build: Option<Build>,
    /// The firing record, where schedules are configured.
    pub schedules: Option<Arc<dyn Schedules>>,
    /// The residents. The repository commands and the residents pages need them.
    pub residents: Option<Arc<dyn Residents>>,
    /// Saved event streams, on the command line.
    pub sources: Option<Arc<dyn Sources>>,
}
