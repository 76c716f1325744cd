//! Thread admission: one live run per thread (bot supplement section 13).
//!
//! In this version a second message of a thread is refused with a pointer to the live run; it is never folded
//! into it silently and never starts a second run.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_types::{RunId, ThreadKey, UnixMillis};

/// The threads with a live run.
#[derive(Clone, Default)]
pub struct Threads {
    live: Arc<Mutex<HashMap<ThreadKey, Occupant>>>,
}

/// The run that holds a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Its agent.
    pub agent: &'static str,
    /// Its id, once it is created.
    pub run: Option<RunId>,
    /// When it claimed the thread.
    pub since: UnixMillis,
}

/// Holds a thread until dropped.
pub struct Claim {
    threads: Threads,
    thread: ThreadKey,
}

impl Threads {
    /// Claims a thread, or tells who holds it.
    pub fn claim(&self, thread: &ThreadKey, agent: &'static str, now: UnixMillis) -> Result<Claim, Occupant> {
        let mut live = self.lock();
        if let Some(occupant) = live.get(thread) {
            return Err(occupant.clone());
        }
        live.insert(thread.clone(), Occupant { agent, run: None, since: now });
        Ok(Claim { threads: self.clone(), thread: thread.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadKey, Occupant>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Names the run that the claim was taken for.
    pub fn set_run(&self, run: &RunId) {
        if let Some(occupant) = self.threads.lock().get_mut(&self.thread) {
            occupant.run = Some(run.clone());
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.threads.lock().remove(&self.thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_live_run_and_is_free_again_when_it_ends() {
        let threads = Threads::default();
        let thread = ThreadKey::new("http", "default", "default");
        let claim = threads.claim(&thread, "coding", 5).ok().unwrap();
        let run = RunId::parse("r1").unwrap();
        claim.set_run(&run);
        let occupant = threads.claim(&thread, "general", 9).err().unwrap();
        assert_eq!(occupant, Occupant { agent: "coding", run: Some(run), since: 5 });
        assert!(threads.claim(&ThreadKey::new("http", "default", "other"), "general", 9).is_ok());
        drop(claim);
        assert!(threads.claim(&thread, "general", 9).is_ok());
    }
}
