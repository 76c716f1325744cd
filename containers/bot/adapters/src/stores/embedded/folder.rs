//! Store folders, private to this user.

use std::{fs::DirBuilder, path::Path};

/// Creates a folder and missing parents, readable only by this user.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
