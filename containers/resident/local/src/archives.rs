//! Archives as files.

use std::{fs, io};

use ars_resident::names::BackupId;
use ars_resident_engine::ObjectCounts;

use crate::places::{ARCHIVE_SUFFIX, Places};

/// Moves an archive from the daemon to the archive folder. The rename is last, so an archive is
/// complete.
pub(crate) fn store(places: &Places, id: &BackupId) -> io::Result<()> {
    fs::create_dir_all(places.archives())?;
    let (from, to) = (places.transfer(id), places.archive(id));
    fs::File::open(&from)?.sync_all()?;
    fs::rename(from, to)
}

/// Offers an archive to the daemon. Both folders are on the same file system, so a link is enough.
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

/// Deletes archives. A missing archive counts as deleted.
pub(crate) fn delete(places: &Places, ids: &[BackupId]) -> io::Result<()> {
    for id in ids {
        match fs::remove_file(places.archive(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Counts the files in a resident's archive folder. An archive's name begins with the id.
pub(crate) fn count(places: &Places) -> io::Result<ObjectCounts> {
    let mut counts = ObjectCounts::default();
    let entries = match fs::read_dir(places.archives()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(counts),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name();
        let id = name
            .to_str()
            .and_then(|name| name.strip_suffix(ARCHIVE_SUFFIX));
        let is_backup = id.is_some_and(|id| BackupId::parse(id).is_ok());
        *(if is_backup {
            &mut counts.backups
        } else {
            &mut counts.others
        }) += 1;
    }
    Ok(counts)
}

/// Deletes all of a resident's archives. Returns their numbers.
pub(crate) fn delete_all(places: &Places) -> io::Result<ObjectCounts> {
    let counts = count(places)?;
    match fs::remove_dir_all(places.archives()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(counts),
    }
}
