//! Reply channels for reclaimed runs. An HTTP or MCP caller from an ended process reads the run's
//! record; a terminal has ended with the process. A code host comment is edited on.

use std::sync::Arc;

use ars_bot_http::github::CommentChannel;
use ars_bot_ports::{Channel, Channels, CodeHost, NobodyListens};
use ars_types::{Platform, ReplyPath};
use ars_wire::ledger::LiveRun;

/// Channels for runs that the ledger records.
pub struct RecordedChannels {
    /// The code host, if configured.
    pub code_host: Option<Arc<dyn CodeHost>>,
    /// Base URL for the run pages.
    pub pages: Option<String>,
}

impl Channels for RecordedChannels {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn Channel>> {
        let (platform, _) = Platform::split(&run.thread_key)?;
        match platform.reply_path() {
            ReplyPath::None => None,
            ReplyPath::Record => Some(Arc::new(NobodyListens)),
            ReplyPath::Conversation => {
                let host = Arc::clone(self.code_host.as_ref()?);
                Some(Arc::new(CommentChannel::reopen(
                    run,
                    host,
                    self.pages.clone(),
                )?))
            }
        }
    }
}
