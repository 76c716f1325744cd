//! Where a tree's next checkpoint starts: the last checkpoint's index, or the attach's state.
//!
//! It counts while refs, index and ignore rules are unchanged. Not here: checkpoints
//! (`crate::steps`).

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cap_std::fs::Dir;

use crate::footprint::{Footprint, WatchedTree};

/// A copy beside the index. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) folder: Dir,
    pub(crate) path: PathBuf,
    pub(crate) real: PathBuf,
}

impl Drop for Index {
    fn drop(&mut self) {
        // A remaining copy is a file that git ignores.
        let _ = self.folder.remove_file(&self.path);
    }
}

/// The folder with the objects that quick checkpoints made. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) tree: Dir,
    pub(crate) path: PathBuf,
    pub(crate) real: PathBuf,
    /// Ids that the mirror has.
    pub(crate) adopted: HashSet<String>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Git ignores a folder that remains.
        let _ = self.tree.remove_dir_all(&self.path);
    }
}

/// A mirror commit that a tree was made from.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) sha: String,
    pub(crate) tree: String,
}

/// A tree without a change and without a new commit.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) base: Base,
    pub(crate) footprint: Footprint,
}

/// A tree's last checkpoint, and the state that it was made from.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// The run's checkpoint refs.
    pub(crate) namespace: String,
    /// 0 before the first checkpoint. The other values are from `HEAD` then.
    pub(crate) number: u64,
    pub(crate) sha: String,
    pub(crate) tree: String,
    /// The `HEAD` commit and the other branches' tips.
    pub(crate) parents: Vec<String>,
    pub(crate) head_tree: String,
}

impl Saved {
    /// Returns the checkpoint's ref name.
    pub(crate) fn git_ref(&self) -> String {
        format!("{}/{}", self.namespace, self.number)
    }
}

/// Where a tree's next checkpoint starts.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) saved: Saved,
    pub(crate) index: Index,
    pub(crate) objects: Objects,
    pub(crate) watched: WatchedTree,
}

/// What is known about a tree.
#[derive(Debug)]
pub(crate) enum Known {
    Attached(Attached),
    Kept(Box<Kept>),
}

/// All trees' known states.
#[derive(Debug, Default)]
pub(crate) struct AllKnown {
    trees: Mutex<HashMap<PathBuf, Known>>,
    /// The spare tree's commit.
    spare: Mutex<Option<Base>>,
}

impl AllKnown {
    pub(crate) fn take(&self, tree: &Path) -> Option<Known> {
        self.trees
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(tree)
    }

    /// Keeps it, and forgets removed trees.
    pub(crate) fn keep(&self, tree: &Path, known: Known) {
        let mut all = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|tree, _| tree.exists());
        all.insert(tree.to_owned(), known);
    }

    /// Sets the spare tree's commit. Returns the previous commit.
    pub(crate) fn set_spare(&self, base: Option<Base>) -> Option<Base> {
        std::mem::replace(
            &mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner),
            base,
        )
    }
}
