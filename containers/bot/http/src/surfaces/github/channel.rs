//! A webhook's channel: all replies to a message share a comment, which is edited in place.

use std::sync::Arc;

use ars_bot_ports::{Channel, ChannelEvent, CodeHost, HistoryTurn, ReplyError};
use ars_codehost::webhook::item_of_thread;
use ars_types::{ChannelTraits, Platform, RepoSlug, RunId};
use ars_wire::ledger::LiveRun;
use async_trait::async_trait;
use tokio::sync::{Mutex, watch};

use super::comment::Comment;

/// Separates two replies.
const BLANK_LINE: &str = "\n\n";
/// Marker value for refused failed checks.
const CHECKS_MARKER: &str = "failed checks";

/// Channel that writes a comment.
pub struct CommentChannel {
    pages: Option<String>,
    written: Arc<Mutex<Written>>,
    progress: watch::Sender<Progress>,
}

/// Dispatch progress, for the response to the webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// No run exists yet.
    #[default]
    Dispatching,
    /// The run was created.
    Started,
    /// An earlier delivery had the same id.
    Repeated,
    /// The process shuts down and accepted nothing.
    ShuttingDown,
    /// The message was refused, so no run begins for it.
    Refused,
}

struct Written {
    comment: Comment,
    replies: Vec<String>,
}

impl CommentChannel {
    /// Makes a delivery's channel. `pages` is the run pages' base.
    pub(super) fn new(
        host: Arc<dyn CodeHost>,
        repository: RepoSlug,
        number: u64,
        delivery: &str,
        pages: Option<String>,
    ) -> Self {
        Self::with_comment(
            Comment::new(host, repository, number, format!("delivery {delivery}")),
            pages,
        )
    }

    /// Makes a failed check's channel.
    ///
    /// No person waits for the answer, and many checks on the same pull request may be refused for
    /// the same reason, so all refusals share a comment. A run has a separate comment.
    pub(super) fn of_check(
        host: Arc<dyn CodeHost>,
        repository: RepoSlug,
        number: u64,
        pages: Option<String>,
    ) -> Self {
        Self::with_comment(
            Comment::new(host, repository, number, CHECKS_MARKER.to_owned()).of_earlier(),
            pages,
        )
    }

    /// Returns the channel for another process's run, or `None` if it has another channel.
    pub fn reopen(run: &LiveRun, host: Arc<dyn CodeHost>, pages: Option<String>) -> Option<Self> {
        let (repository, number) = item_of_thread(&run.thread_key)?;
        let comment = Comment::new(host, repository, number, marker_of(&run.run_id));
        Some(Self::with_comment(comment.of_earlier(), pages))
    }

    fn with_comment(comment: Comment, pages: Option<String>) -> Self {
        let written = Arc::new(Mutex::new(Written {
            comment,
            replies: Vec::new(),
        }));
        Self {
            pages,
            written,
            progress: watch::Sender::default(),
        }
    }

    /// Returns the dispatch progress.
    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn note_refusal(&self) {
        self.progress.send_if_modified(|progress| {
            let is_open = *progress == Progress::Dispatching;
            if is_open {
                *progress = Progress::Refused;
            }
            is_open
        });
    }

    /// Adds a text to the comment.
    async fn write(&self, text: String) -> Result<(), ReplyError> {
        let mut written = self.written.lock().await;
        written.replies.push(text);
        let whole = written.replies.join(BLANK_LINE);
        written
            .comment
            .write(&whole, None)
            .await
            .map_err(|error| ReplyError(error.to_string()))
    }

    /// Announces a run, unless it replies first.
    fn announce(&self, run: &RunId) {
        let page = self
            .pages
            .as_ref()
            .map(|base| format!("[Run]({base}/runs/{run})"));
        let (written, marker) = (Arc::clone(&self.written), marker_of(run));
        tokio::spawn(async move {
            let mut written = written.lock().await;
            written.comment.mark(marker);
            // A run that replied already needs no announcement.
            if written.replies.is_empty()
                && !written.comment.is_written()
                && let Err(error) = written
                    .comment
                    .write("Working on it.", page.as_deref())
                    .await
            {
                tracing::warn!(%error, "a run was not announced on the code host");
            }
        });
    }
}

fn marker_of(run: &RunId) -> String {
    format!("run {run}")
}

#[async_trait]
impl Channel for CommentChannel {
    fn traits(&self) -> ChannelTraits {
        Platform::CodeHost.channel_traits()
    }

    /// Returns nothing: directives in strangers' comments would count.
    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        match &event {
            ChannelEvent::Refused(_) => self.note_refusal(),
            ChannelEvent::RunStarted(run) => {
                self.progress.send_replace(Progress::Started);
                self.announce(run);
            }
            ChannelEvent::Repeated(_) => {
                self.progress.send_replace(Progress::Repeated);
            }
            ChannelEvent::RejectedByShutdown => {
                self.progress.send_replace(Progress::ShuttingDown);
            }
            _ => {}
        }
        match event.into_text() {
            Some(text) => self.write(text).await,
            None => Ok(()),
        }
    }
}
