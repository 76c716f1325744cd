//! Archives as files.

use std::{fs, io};

use ars_resident::names::BackupId;
use ars_resident_engine::DeletedObjects;

use crate::places::Places;

/// Moves an archive from the daemon to its folder. The rename is last, so an archive is complete.
pub(crate) fn store(places: &Places, id: &BackupId) -> io::Result<()> {
    fs::create_dir_all(places.archives())?;
    let (from, to) = (places.transfer(id), places.archive(id));
    fs::File::open(&from)?.sync_all()?;
    fs::rename(from, to)
}

/// Offers an archive to the daemon. Both folders are on one file system, so a link is enough.
pub(crate) fn offer(places: &Places, id: &BackupId) -> io::Result<()> {
    let (from, to) = (places.archive(id), places.transfer(id));
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(&to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::hard_link(from, to)
}

/// Deletes archives. A missing one counts as deleted.
pub(crate) fn delete(places: &Places, ids: &[BackupId]) -> io::Result<()> {
    for id in ids {
        match fs::remove_file(places.archive(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Deletes all archives of a resident.
pub(crate) fn delete_all(places: &Places) -> io::Result<DeletedObjects> {
    let folder = places.archives();
    let count = match fs::read_dir(&folder) {
        Ok(entries) => entries.count(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DeletedObjects::default()),
        Err(error) => return Err(error),
    };
    fs::remove_dir_all(&folder)?;
    Ok(DeletedObjects { backups: u32::try_from(count).unwrap_or(u32::MAX), others: 0 })
}
