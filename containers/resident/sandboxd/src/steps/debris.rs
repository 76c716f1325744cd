//! Files that an earlier daemon left when it was killed.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use ars_resident::layout::{DEPS, STATE, STREAMS, TRANSFERS};

use crate::runtime::Runtime;
use crate::store::STAGING;

/// Mode of a folder that is about to be removed.
const PRIVATE: u32 = 0o700;

/// Removes staging files and credentials. An installation's scratch folder stays, because it
/// continues.
pub(crate) fn remove_debris(runtime: &Runtime) -> io::Result<()> {
    let debris = [
        (STATE, &["git-credentials-", "marker-"][..]),
        (STREAMS, &[""]),
        (TRANSFERS, &[""]),
    ];
    for (folder, prefixes) in debris.into_iter().chain([(DEPS, &[STAGING][..])]) {
        let folder = runtime
            .places
            .real(folder)
            .map_err(|failure| io::Error::other(failure.stderr))?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_debris = prefixes
                .iter()
                .any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
            match is_debris {
                true if entry.file_type()?.is_dir() => remove_folder(&entry.path())?,
                true => fs::remove_file(entry.path())?,
                false => {}
            }
        }
    }
    Ok(())
}

/// Removes a folder.
/// Commands may have made folders in it read-only, which stops every user but root.
fn remove_folder(folder: &Path) -> io::Result<()> {
    make_writable(folder)?;
    fs::remove_dir_all(folder)
}

/// Permits removing the entries in a folder and in all folders below it.
fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Links are not followed.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_folders_become_writable() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), "x").unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o500)).unwrap();
        make_writable(dir.path()).unwrap();
        assert_eq!(
            fs::metadata(&inner).unwrap().permissions().mode() & 0o777,
            PRIVATE
        );
        remove_folder(&dir.path().join("a")).unwrap();
        assert!(!inner.exists());
    }
}
