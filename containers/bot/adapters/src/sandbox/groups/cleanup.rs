//! The thread that ends memberships and removes groups (docs/decisions/0029).
//!
//! It keeps all the service's rights. A thread that starts a program drops its rights and could do
//! neither, although it may drop the last reference to a group.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use super::{folder::Folders, member::Member};

/// Time limit for removing a group. The members count until init has reaped them.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two attempts.
const REMOVE_INTERVAL: Duration = Duration::from_millis(50);

/// Hands work to the thread, which ends when the last sender is dropped.
#[derive(Debug, Clone)]
pub(super) struct Cleanup(Sender<Work>);

#[derive(Debug)]
enum Work {
    End(Arc<Member>),
    Remove(Folders),
}

impl Cleanup {
    /// Starts the cleanup thread.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, receiver) = channel();
        thread::Builder::new()
            .name("ends-groups".into())
            .spawn(move || work(&receiver))?;
        Ok(Self(sender))
    }

    /// Ends a member's membership.
    pub(super) fn end(&self, member: Arc<Member>) {
        self.hand(Work::End(member));
    }

    /// Kills a group's members and removes it.
    pub(super) fn remove(&self, folders: Folders) {
        self.hand(Work::Remove(folders));
    }

    fn hand(&self, work: Work) {
        if let Err(lost) = self.0.send(work) {
            tracing::warn!(?lost, "a control group is left until the next start");
        }
    }
}

fn work(receiver: &Receiver<Work>) {
    // With the time until which each is tried.
    let mut left: Vec<(Folders, Instant)> = Vec::new();
    let mut next = Instant::now();
    loop {
        let received = if left.is_empty() {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(next.saturating_duration_since(Instant::now()))
        };
        match received {
            Ok(Work::End(member)) => member.leave(),
            Ok(Work::Remove(folders)) if folders.is_removed() => {}
            Ok(Work::Remove(folders)) => left.push((folders, Instant::now() + REMOVE_TIMEOUT)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if left.is_empty() => return,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
        let now = Instant::now();
        if now >= next {
            left.retain(|(folders, until)| {
                let is_left = !folders.is_removed();
                if is_left && now >= *until {
                    tracing::warn!(group = %folders, "a control group could not be removed");
                }
                is_left && now < *until
            });
            next = now + REMOVE_INTERVAL;
        }
    }
}
