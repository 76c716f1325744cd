//! Thread claims within this process: a single live run per thread.
//!
//! The claim across processes is the ledger's (`live`). A later message on an occupied thread finds
//! the run to steer here. Not here: the permission to steer (`dispatch`).

mod drafts;
mod mailbox;
mod note;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_types::{RunId, ThreadKey, UnixMillis};

use tokio_util::sync::CancellationToken;

pub use drafts::{Amendment, Draft, Drafts};
pub use mailbox::{Closed, FollowUp, Mailbox, Sender, Target};
pub use note::{Change, Note, SenderFault};

/// The threads with a live run.
#[derive(Clone, Default)]
pub struct Threads {
    live: Arc<Mutex<HashMap<ThreadKey, Occupant>>>,
}

/// The run that owns a thread.
#[derive(Clone)]
pub struct Occupant {
    /// Agent that the run uses.
    pub agent: &'static str,
    /// Repository that the owner works on.
    pub repository: Option<String>,
    /// Git ref, if requested.
    pub git_ref: Option<String>,
    /// Run id, once it is created.
    pub run: Option<RunId>,
    /// When it claimed the thread.
    pub since: UnixMillis,
    /// Queues the owner's follow-ups.
    pub mailbox: Mailbox,
    /// Fires when the thread is free again.
    freed: CancellationToken,
}

/// Run facts that follow-ups are checked against.
#[derive(Debug, Clone, Copy)]
pub struct ThreadWork<'a> {
    /// Agent that the run uses.
    pub agent: &'static str,
    /// Repository, if the run has any.
    pub repository: Option<&'a str>,
    /// Git ref, if requested.
    pub git_ref: Option<&'a str>,
}

/// Owns a thread until dropped.
pub struct Claim {
    threads: Threads,
    thread: ThreadKey,
    agent: &'static str,
    mailbox: Mailbox,
    freed: CancellationToken,
}

impl Threads {
    /// Claims a thread, or returns the owner.
    pub fn claim(
        &self,
        thread: &ThreadKey,
        work: ThreadWork<'_>,
        now: UnixMillis,
    ) -> Result<Claim, Box<Occupant>> {
        let mut live = self.lock();
        if let Some(occupant) = live.get(thread) {
            return Err(Box::new(occupant.clone()));
        }
        let ThreadWork {
            agent,
            repository,
            git_ref,
        } = work;
        let (mailbox, freed) = (Mailbox::default(), CancellationToken::new());
        let occupant = Occupant {
            agent,
            repository: repository.map(str::to_owned),
            git_ref: git_ref.map(str::to_owned),
            run: None,
            since: now,
            mailbox: mailbox.clone(),
            freed: freed.clone(),
        };
        live.insert(thread.clone(), occupant);
        Ok(Claim {
            threads: self.clone(),
            thread: thread.clone(),
            agent,
            mailbox,
            freed,
        })
    }

    /// Returns a thread's owner, if it has any.
    pub fn occupant(&self, thread: &ThreadKey) -> Option<Occupant> {
        self.lock().get(thread).cloned()
    }

    /// Returns the mailboxes of all threads.
    pub fn mailboxes(&self) -> Vec<(ThreadKey, Mailbox)> {
        let live = self.lock();
        let occupants = live.iter();
        occupants
            .map(|(thread, occupant)| (thread.clone(), occupant.mailbox.clone()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadKey, Occupant>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Sets the claim's run id.
    pub fn set_run(&self, run: &RunId) {
        if let Some(occupant) = self.threads.lock().get_mut(&self.thread) {
            occupant.run = Some(run.clone());
        }
    }

    /// Returns the claim's agent.
    pub fn agent(&self) -> &'static str {
        self.agent
    }

    /// Returns the run's mailbox.
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// Releases the thread, and returns the mailbox, which stays open for the final flush's
    /// follow-ups.
    pub(crate) fn release(mut self) -> Mailbox {
        std::mem::take(&mut self.mailbox)
    }
}

impl Occupant {
    /// Waits until the thread is free: the run ended and the record is written or lost.
    pub async fn released(&self) {
        self.freed.cancelled().await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let unread = self.mailbox.close(Closed::Ended).len();
        if unread > 0 {
            tracing::error!(
                unread,
                "follow-ups lost: the claim was dropped without a run"
            );
        }
        self.threads.lock().remove(&self.thread);
        self.freed.cancel();
    }
}

#[cfg(test)]
mod tests {
    use ars_types::Platform;
    use futures::FutureExt as _;

    use super::*;

    const CODING: ThreadWork<'_> = ThreadWork {
        agent: "coding",
        repository: Some("acme/app"),
        git_ref: Some("dev"),
    };
    const GENERAL: ThreadWork<'_> = ThreadWork {
        agent: "general",
        repository: None,
        git_ref: None,
    };

    #[test]
    fn thread_has_one_live_run() {
        let threads = Threads::default();
        let thread = ThreadKey::new(Platform::Http, "default", "default");
        let claim = threads.claim(&thread, CODING, 5).ok().unwrap();
        let run = RunId::parse("r1").unwrap();
        claim.set_run(&run);
        let occupant = threads.claim(&thread, GENERAL, 9).err().unwrap();
        assert_eq!(
            (occupant.agent, occupant.run, occupant.since),
            ("coding", Some(run), 5)
        );
        let place = (occupant.repository.as_deref(), occupant.git_ref.as_deref());
        assert_eq!(place, (Some("acme/app"), Some("dev")));
        assert!(threads.occupant(&thread).is_some());
        assert!(
            threads
                .claim(
                    &ThreadKey::new(Platform::Http, "default", "other"),
                    GENERAL,
                    9
                )
                .is_ok()
        );
        drop(claim);
        assert!(threads.occupant(&thread).is_none());
        assert!(threads.claim(&thread, GENERAL, 9).is_ok());
    }

    #[test]
    fn dropped_claim_frees_the_thread() {
        let threads = Threads::default();
        let thread = ThreadKey::new(Platform::Http, "default", "default");
        let claim = threads.claim(&thread, CODING, 5).ok().unwrap();
        let occupant = threads.claim(&thread, CODING, 6).err().unwrap();
        assert!(claim.mailbox().close(Closed::Ended).is_empty());
        let late = FollowUp {
            note: Note {
                text: "x".into(),
                attachments: Vec::new(),
                user_id: "http:a".into(),
                received_at: 0,
                delivery: None,
                grants: None,
                token: None,
                key: None,
                change: None,
            },
            inbox_seq: None,
            sender: None,
        };
        assert_eq!(occupant.mailbox.put(late), Err(Closed::Ended));
        assert!(threads.claim(&thread, CODING, 7).is_err());
        assert!(occupant.released().now_or_never().is_none());
        drop(claim);
        assert!(occupant.released().now_or_never().is_some());
        assert!(threads.claim(&thread, CODING, 7).is_ok());
    }
}
