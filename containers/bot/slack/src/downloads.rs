//! Files that were downloaded lately: every message in a thread reads the thread's files again.

use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

/// Maximum bytes of the files kept together.
const MAX_KEPT_FILE_BYTES: usize = 64 * 1024 * 1024;

/// Files by address, the least recently used dropped first.
pub(crate) struct Downloads(Mutex<Kept>);

struct Kept {
    files: LruCache<String, Arc<[u8]>>,
    bytes: usize,
}

impl Default for Downloads {
    fn default() -> Self {
        Self(Mutex::new(Kept {
            files: LruCache::unbounded(),
            bytes: 0,
        }))
    }
}

impl Downloads {
    /// Returns a file that is kept.
    pub(crate) fn get(&self, url: &str) -> Option<Arc<[u8]>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.files.get(url).cloned()
    }

    /// Keeps a file, and drops others for it.
    pub(crate) fn keep(&self, url: &str, content: &Arc<[u8]>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += content.len();
        if let Some(replaced) = kept.files.put(url.to_owned(), Arc::clone(content)) {
            kept.bytes -= replaced.len();
        }
        while kept.bytes > MAX_KEPT_FILE_BYTES
            && let Some((_, dropped)) = kept.files.pop_lru()
        {
            kept.bytes -= dropped.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_files_are_bounded() {
        let downloads = Downloads::default();
        let third: Arc<[u8]> = vec![0; MAX_KEPT_FILE_BYTES / 3].into();
        for url in ["a", "b", "a", "c"] {
            downloads.keep(url, &third);
        }
        assert!(
            ["a", "b", "c"]
                .iter()
                .all(|url| downloads.get(url).is_some())
        );
        downloads.get("a");
        downloads.keep("d", &third);
        let kept = ["a", "b", "c", "d"].map(|url| downloads.get(url).is_some());
        assert_eq!(kept, [true, false, true, true]);
    }
}
