//! Reply channels of reclaimed runs.
//! An HTTP or MCP caller of an ended process reads the run's record; a terminal has ended with its process.

use std::sync::Arc;

use ars_bot_ports::{ChannelIo, Channels, NobodyListens};
use ars_wire::ledger::LiveRun;

/// Channels that discard replies, because the record has them.
pub struct RecordedChannels;

/// Platforms with requesters that read the record.
const PLATFORMS: [&str; 2] = ["http", "mcp"];

impl Channels for RecordedChannels {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>> {
        let platform = run.thread_key.split(':').next()?;
        PLATFORMS.contains(&platform).then(|| Arc::new(NobodyListens) as Arc<dyn ChannelIo>)
    }
}
