//! Files that an earlier daemon left when it was killed.

use std::{fs, io};

use ars_resident::layout::{DEPS, STATE, STREAMS, TRANSFERS};

use crate::runtime::Runtime;
use crate::store::STAGING;

/// Removes staging files and credentials.
/// The scratch folder of an installation stays, because it continues.
pub(crate) fn remove_debris(runtime: &Runtime) -> io::Result<()> {
    let debris = [(STATE, &["git-credentials-", "marker-"][..]), (STREAMS, &[""]), (TRANSFERS, &[""])];
    for (folder, prefixes) in debris.into_iter().chain([(DEPS, &[STAGING][..])]) {
        let folder = runtime.places.real(folder).map_err(|failure| io::Error::other(failure.stderr))?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_debris =
                prefixes.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
            match is_debris {
                true if entry.file_type()?.is_dir() => fs::remove_dir_all(entry.path())?,
                true => fs::remove_file(entry.path())?,
                false => {}
            }
        }
    }
    Ok(())
}
