//! The start of the next checkpoint of a tree: the index of the last one, or the state of the attach.
//!
//! It counts while refs, index and rules of ignored files are unchanged. Not here: checkpoints (`crate::steps`).

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cap_std::fs::Dir;

use crate::footprint::{Footprint, Watched};

/// A copy of the index, beside it. It is removed when dropped.
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

/// The folder of the objects that quick checkpoints made. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) tree: Dir,
    pub(crate) path: PathBuf,
    pub(crate) real: PathBuf,
    /// The ids of those that the mirror has.
    pub(crate) adopted: HashSet<String>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        // A remaining folder is one that git ignores.
        let _ = self.tree.remove_dir_all(&self.path);
    }
}

/// A commit of the mirror that a tree was made of.
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

/// The last checkpoint of a tree, and the state that it was made of.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// The checkpoints of the run.
    pub(crate) namespace: String,
    /// 0 before the first one. The other values are those of `HEAD` then.
    pub(crate) number: u64,
    pub(crate) sha: String,
    pub(crate) tree: String,
    /// The commit of `HEAD` and the tips of other branches.
    pub(crate) parents: Vec<String>,
    pub(crate) head_tree: String,
}

impl Saved {
    /// Returns the ref.
    pub(crate) fn git_ref(&self) -> String {
        format!("{}/{}", self.namespace, self.number)
    }
}

/// The start of the next checkpoint of a tree.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) saved: Saved,
    pub(crate) index: Index,
    pub(crate) objects: Objects,
    pub(crate) watched: Watched,
}

/// What is known of a tree.
#[derive(Debug)]
pub(crate) enum Known {
    Attached(Attached),
    Kept(Box<Kept>),
}

/// The known states of all trees.
#[derive(Debug, Default)]
pub(crate) struct AllKnown {
    trees: Mutex<HashMap<PathBuf, Known>>,
    /// The commit of the spare tree.
    spare: Mutex<Option<Base>>,
}

impl AllKnown {
    /// Takes the state of a tree.
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

    /// Sets the commit of the spare tree. Returns the one before.
    pub(crate) fn set_spare(&self, base: Option<Base>) -> Option<Base> {
        std::mem::replace(
            &mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner),
            base,
        )
    }
}
