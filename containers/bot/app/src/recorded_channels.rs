//! The ways back to requesters whose process is gone (state-worker supplement section 9.5): an HTTP or MCP caller is
//! not there any more and reads the run's record; a terminal is gone with its process.

use std::sync::Arc;

use ars_bot_ports::{ChannelIo, Channels, NobodyListens};
use ars_wire::ledger::LiveRun;

/// Channels whose replies are in the record.
pub struct RecordedChannels;

/// Platforms whose requesters read the record.
const PLATFORMS: [&str; 2] = ["http", "mcp"];

impl Channels for RecordedChannels {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>> {
        let platform = run.thread_key.split(':').next()?;
        PLATFORMS.contains(&platform).then(|| Arc::new(NobodyListens) as Arc<dyn ChannelIo>)
    }
}
