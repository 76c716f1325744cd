//! A channel that records events, and channels that all reopen as that channel.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ars_bot_ports::{AttachmentError, Channel, ChannelEvent, Channels, HistoryTurn, ReplyError};
use ars_types::{ChannelTraits, RunId, RunStatus};
use ars_wire::ledger::LiveRun;
use async_trait::async_trait;
use tokio::sync::Notify;

/// A channel that records all events.
#[derive(Debug)]
pub struct RecordingChannel {
    /// Traits that the core asks for.
    pub traits: ChannelTraits,
    /// The thread's earlier turns.
    pub history: Vec<HistoryTurn>,
    /// The files that it can read again, by their references.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Permits each history read, if it is set.
    pub history_permit: Option<Arc<Notify>>,
    /// Whether every message fails.
    pub is_broken: bool,
    /// Everything it recorded so far.
    pub record: ChannelRecord,
}

/// A channel's record, which the methods read.
#[derive(Debug, Default)]
pub struct ChannelRecord {
    events: Mutex<Vec<ChannelEvent>>,
    history_reads: AtomicUsize,
}

impl Default for RecordingChannel {
    fn default() -> Self {
        Self {
            traits: ChannelTraits::PATIENT,
            history: Vec::new(),
            files: BTreeMap::new(),
            history_permit: None,
            is_broken: false,
            record: ChannelRecord::default(),
        }
    }
}

impl RecordingChannel {
    /// Returns the events so far, without messages that failed.
    pub fn events(&self) -> Vec<ChannelEvent> {
        self.lock().clone()
    }

    /// Returns each message's text.
    pub fn said(&self) -> Vec<String> {
        self.each(ChannelEvent::into_text)
    }

    /// Returns the status lines.
    pub fn statuses(&self) -> Vec<String> {
        self.each(|event| match event {
            ChannelEvent::Status(text) => Some(text),
            _ => None,
        })
    }

    /// Returns for each command whether it succeeded.
    pub fn commands(&self) -> Vec<bool> {
        self.each(|event| match event {
            ChannelEvent::CommandAnswered { failure } => Some(failure.is_none()),
            _ => None,
        })
    }

    /// Returns the runs that started.
    pub fn started(&self) -> Vec<RunId> {
        self.each(|event| match event {
            ChannelEvent::RunStarted(run) => Some(run),
            _ => None,
        })
    }

    /// Returns each finished run's status.
    pub fn finished(&self) -> Vec<RunStatus> {
        self.each(|event| match event {
            ChannelEvent::RunFinished { status, .. } => Some(status),
            _ => None,
        })
    }

    /// Returns the runs that another process continues.
    pub fn moved(&self) -> Vec<RunId> {
        self.each(|event| match event {
            ChannelEvent::RunMoved { run, .. } => Some(run),
            _ => None,
        })
    }

    /// Returns the page that the last run that moved is continued on.
    pub fn moved_to(&self) -> Option<String> {
        let pages = self.each(|event| match event {
            ChannelEvent::RunMoved { page, .. } => Some(page),
            _ => None,
        });
        pages.into_iter().next_back()
    }

    /// Returns how often the history was read.
    pub fn history_reads(&self) -> usize {
        self.record.history_reads.load(Ordering::SeqCst)
    }

    /// Forgets all recorded events.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn each<T>(&self, select: impl Fn(ChannelEvent) -> Option<T>) -> Vec<T> {
        self.events().into_iter().filter_map(select).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ChannelEvent>> {
        self.record
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Channel for RecordingChannel {
    fn traits(&self) -> ChannelTraits {
        self.traits
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        self.record.history_reads.fetch_add(1, Ordering::SeqCst);
        if let Some(permit) = &self.history_permit {
            permit.notified().await;
        }
        self.history.clone()
    }

    async fn read_attachment(&self, reference: &str) -> Result<Arc<[u8]>, AttachmentError> {
        let content = self.files.get(reference).cloned();
        content.ok_or_else(|| AttachmentError("no such file".into()))
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        if self.is_broken && event.clone().into_text().is_some() {
            return Err(ReplyError("gone".into()));
        }
        self.lock().push(event);
        Ok(())
    }
}

/// Channels that all reopen as this channel.
#[derive(Debug, Clone, Default)]
pub struct ReopenedChannel(pub Arc<RecordingChannel>);

impl Channels for ReopenedChannel {
    fn reopen(&self, _run: &LiveRun) -> Option<Arc<dyn Channel>> {
        let channel: Arc<RecordingChannel> = Arc::clone(&self.0);
        Some(channel)
    }
}
