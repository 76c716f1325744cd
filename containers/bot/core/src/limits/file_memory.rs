//! Limits the files of requests that a process has in memory, from the dispatch to the run's end.
//!
//! Not here: the limits of one message, thread and mailbox (`attachments`, `threads`).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ars_bot_ports::Overload;

/// Maximum size of the files of all requests and their runs, in bytes. A run has its files in base64,
/// and another copy during a model call, which is a gigabyte in all.
const FILES_MAX_BYTES: u32 = 268_435_456;

/// Counts a process's file bytes.
#[derive(Default)]
pub(crate) struct FileMemory {
    used: AtomicUsize,
}

/// Room for a request's files, until dropped.
pub(crate) struct FilePermit {
    memory: Arc<FileMemory>,
    bytes: usize,
}

impl FileMemory {
    /// Reserves room for these bytes.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Result<FilePermit, Overload> {
        let limit = FILES_MAX_BYTES;
        let fits = |used: &usize| u32::try_from(*used).is_ok_and(|used| used <= limit);
        let reserve = |used: usize| Some(used.saturating_add(bytes)).filter(fits);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, reserve)
            .map_err(|_| Overload::Files { limit })?;
        Ok(FilePermit {
            memory: Arc::clone(self),
            bytes,
        })
    }
}

impl Drop for FilePermit {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_and_returned() {
        let memory = Arc::new(FileMemory::default());
        let half = FILES_MAX_BYTES as usize / 2;
        let (first, _second) = (
            memory.reserve(half).ok(),
            memory.reserve(half).ok().unwrap(),
        );
        let limit = FILES_MAX_BYTES;
        assert_eq!(memory.reserve(1).err(), Some(Overload::Files { limit }));
        assert!(memory.reserve(0).is_ok());
        drop(first);
        assert!(memory.reserve(half).is_ok());
    }
}
