//! State that lasts between a tree's commands, and ends when the tree is not used.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use ars_sandboxd::Place;

/// Idle time after which a resident tree's shared sandbox on this machine ends.
const TREE_SANDBOX_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A value for each tree. A value in use is kept, and ends after it was replaced or removed.
pub(super) struct ByTree<T>(Arc<Mutex<Trees<T>>>);

struct Trees<T> {
    known: HashMap<PathBuf, TreeEntry<T>>,
    /// A task removes what is idle.
    is_watched: bool,
}

struct TreeEntry<T> {
    value: Arc<T>,
    place: Place,
    /// Device and number for each writable folder: another folder may be at the same path.
    folders: Vec<(u64, u64)>,
    used_at: Instant,
}

impl<T> Default for ByTree<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Trees {
            known: HashMap::new(),
            is_watched: false,
        })))
    }
}

impl<T: Send + Sync + 'static> ByTree<T> {
    /// Returns a tree's value. It is made anew where a folder was replaced.
    ///
    /// Needs the runtime on which idle values are removed.
    pub(super) fn get(&self, place: &Place, make: impl FnOnce() -> T) -> io::Result<Arc<T>> {
        let tree = place.writable.first().ok_or(io::ErrorKind::InvalidInput)?;
        let folders = place
            .writable
            .iter()
            .map(|folder| identity(folder))
            .collect::<io::Result<Vec<_>>>()?;
        let now = Instant::now();
        let mut trees = lock(&self.0);
        if let Some(entry) = trees.known.get_mut(tree)
            && (&entry.place, &entry.folders) == (place, &folders)
        {
            entry.used_at = now;
            return Ok(Arc::clone(&entry.value));
        }
        let value = Arc::new(make());
        let entry = TreeEntry {
            value: Arc::clone(&value),
            place: place.clone(),
            folders,
            used_at: now,
        };
        let replaced = trees.known.insert(tree.clone(), entry);
        if !std::mem::replace(&mut trees.is_watched, true) {
            tokio::spawn(remove_idle(Arc::downgrade(&self.0)));
        }
        drop(trees);
        drop(replaced);
        Ok(value)
    }

    /// Removes and returns the values for trees with a writable folder at or below `folder`.
    pub(super) fn remove_in(&self, folder: &Path) -> Vec<Arc<T>> {
        let is_in = |entry: &TreeEntry<T>| {
            entry
                .place
                .writable
                .iter()
                .any(|own| own.starts_with(folder))
        };
        lock(&self.0)
            .known
            .extract_if(|_, entry| is_in(entry))
            .map(|(_, entry)| entry.value)
            .collect()
    }
}

impl<T> Trees<T> {
    /// Takes the idle values. The time is absent if none is left, else it is when to call next.
    fn take_idle(&mut self, now: Instant) -> (Vec<Arc<T>>, Option<Instant>) {
        for entry in self
            .known
            .values_mut()
            .filter(|entry| Arc::strong_count(&entry.value) > 1)
        {
            entry.used_at = now;
        }
        let is_idle = |entry: &TreeEntry<T>| entry.used_at + TREE_SANDBOX_IDLE_TIMEOUT <= now;
        let idle = self
            .known
            .extract_if(|_, entry| is_idle(entry))
            .map(|(_, entry)| entry.value)
            .collect();
        let next = self
            .known
            .values()
            .map(|entry| entry.used_at + TREE_SANDBOX_IDLE_TIMEOUT)
            .min();
        self.is_watched = next.is_some();
        (idle, next)
    }
}

/// Removes idle values until none is left.
async fn remove_idle<T>(trees: Weak<Mutex<Trees<T>>>) {
    let mut next = Some(Instant::now() + TREE_SANDBOX_IDLE_TIMEOUT);
    while let Some(at) = next {
        tokio::time::sleep_until(at.into()).await;
        let Some(trees) = trees.upgrade() else { return };
        let (idle, due) = lock(&trees).take_idle(Instant::now());
        drop(idle);
        next = due;
    }
}

fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(folder)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn lock<T>(trees: &Mutex<Trees<T>>) -> MutexGuard<'_, Trees<T>> {
    trees.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(root: &Path, tree: &str, home: &str) -> Place {
        let writable = [tree, home].map(|name| root.join(name));
        writable
            .iter()
            .for_each(|folder| fs::create_dir_all(folder).unwrap());
        Place {
            temporary: writable[1].clone(),
            writable: writable.into(),
            readable: vec![],
            has_network: true,
        }
    }

    #[tokio::test]
    async fn replaced_folder_gets_another_value() {
        let root = tempfile::tempdir().unwrap();
        let trees = ByTree::default();
        let first = place(root.path(), "a", "home");
        let value = trees.get(&first, || 1).unwrap();
        assert_eq!(*trees.get(&first, || 2).unwrap(), 1);
        // The folder is moved, because a new folder might get a removed folder's number.
        for name in ["a", "home"] {
            fs::rename(
                root.path().join(name),
                root.path().join(format!("former-{name}")),
            )
            .unwrap();
            assert_ne!(
                *trees
                    .get(&place(root.path(), "a", "home"), || 2 + name.len())
                    .unwrap(),
                *value
            );
        }
        assert_eq!(*trees.get(&first, || 9).unwrap(), 6);
        assert_eq!(
            *trees.get(&place(root.path(), "a", "other"), || 7).unwrap(),
            7,
            "another user"
        );
        fs::remove_dir(root.path().join("a")).unwrap();
        assert_eq!(
            trees.get(&first, || 9).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[tokio::test]
    async fn value_ends_with_its_home() {
        let root = tempfile::tempdir().unwrap();
        let trees = ByTree::default();
        let [first, other] =
            [("a", "home1"), ("b", "home10")].map(|(tree, home)| place(root.path(), tree, home));
        let ended = Arc::downgrade(&trees.get(&first, || 1).unwrap());
        let kept = Arc::downgrade(&trees.get(&other, || 2).unwrap());
        assert_eq!(trees.remove_in(&root.path().join("home1")).len(), 1);
        assert_eq!((ended.strong_count(), kept.strong_count()), (0, 1));
    }

    #[tokio::test]
    async fn idle_value_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let trees = ByTree::default();
        let (idle, busy) = (
            place(root.path(), "a", "home1"),
            place(root.path(), "b", "home2"),
        );
        let ended = Arc::downgrade(&trees.get(&idle, || 1).unwrap());
        let busy = trees.get(&busy, || 2).unwrap();
        let later = Instant::now() + TREE_SANDBOX_IDLE_TIMEOUT;
        let (removed, next) = lock(&trees.0).take_idle(later);
        drop(removed);
        assert_eq!(
            (ended.strong_count(), next),
            (0, Some(later + TREE_SANDBOX_IDLE_TIMEOUT))
        );
        let busy_value = Arc::downgrade(&busy);
        drop(busy);
        let (removed, next) = lock(&trees.0).take_idle(later + TREE_SANDBOX_IDLE_TIMEOUT);
        drop(removed);
        assert_eq!(
            (busy_value.strong_count(), next, lock(&trees.0).is_watched),
            (0, None, false)
        );
    }
}
