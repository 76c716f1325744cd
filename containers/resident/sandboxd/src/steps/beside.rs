//! A checkpoint's own files: a copy of the index, and a folder for new objects.
//!
//! They are in the tree's repository, where git ignores them.

use std::{collections::HashSet, path::Path};

use ars_resident::plan::User;

use super::files::{make_folder, read_whole, write_in};
use crate::{
    failure::{Context as _, Result},
    kept::{Index, Objects},
    step::StepContext,
    users,
};

/// Mode of the copied index.
const INDEX_MODE: u32 = 0o600;

/// Copies a tree's index beside it.
pub(super) async fn copy_index(
    step: &StepContext<'_>,
    user: User,
    (tree, real): (&str, &Path),
) -> Result<Index> {
    let name = format!(".git/ars-index-{}", uuid::Uuid::new_v4());
    let (folder, path) = step.runtime.places.in_tree(&format!("{tree}/{name}"))?;
    let owner = users::owner(&step.runtime.settings.mode, user);
    let index = Index {
        folder,
        path,
        real: real.join(&name),
    };
    step.blocking(move |_| {
        // Keeps the file times, so that only changed files are read again. The index's own time
        // tells git which files changed in the same moment.
        let own = Path::new(".git/index");
        let changed = index
            .folder
            .symlink_metadata(own)
            .and_then(|meta| meta.modified())
            .context("index")?;
        let content = read_whole(&index.folder, own)?;
        write_in(&index.folder, &index.path, &content, INDEX_MODE, owner)?;
        let copy = index.folder.open(&index.path).context("index")?.into_std();
        copy.set_modified(changed.into_std()).context("index")?;
        Ok(index)
    })
    .await
}

/// Makes the object folder.
pub(super) async fn make_objects(
    step: &StepContext<'_>,
    user: User,
    (tree, real): (&str, &Path),
) -> Result<Objects> {
    let name = format!(".git/ars-objects-{}", uuid::Uuid::new_v4());
    let (tree, path) = step.runtime.places.in_tree(&format!("{tree}/{name}"))?;
    let owner = users::owner(&step.runtime.settings.mode, user);
    let objects = Objects {
        tree,
        path,
        real: real.join(&name),
        adopted: HashSet::new(),
    };
    step.blocking(move |_| make_folder(&objects.tree, &objects.path, owner).map(|_| objects))
        .await
}
