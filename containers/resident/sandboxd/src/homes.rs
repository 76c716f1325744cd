//! User homes and temporary folders: made, and replaced by empty ones.
//!
//! A user serves a thread after another, so nothing in a home is kept between them: a thread's
//! settings file would run programs in the other. Not here: when a user is free (the engine), and
//! the user's processes (`crate::process`).

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ars_resident::layout::{HOMES, TEMPORARIES, TRASH};
use ars_resident::plan::User;
use rustix::fs::{Mode as Bits, chmod, chown};

use crate::{
    places::Places,
    settings::{Mode, Settings},
    users::{self, Owner},
};

/// A home's folder for temporary files, where no user owns its own files.
pub(crate) const TEMPORARY: &str = "tmp";
/// Mode for folders private to a user.
const PRIVATE: u32 = 0o700;
/// Container folders that every user may write to.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Maximum entries examined in the shared folders. What a user has beyond them stays until the
/// container ends.
const SHARED_ENTRIES_MAX: usize = 100_000;

/// Returns a user's folder for temporary files, which the user cannot replace.
pub(crate) fn temporary_of(user: User) -> String {
    format!("{TEMPORARIES}/{}", users::name(user))
}

/// Returns a user's folders, as plan paths.
pub(crate) fn folders_of(mode: &Mode, user: User) -> Vec<String> {
    let home = format!("{HOMES}/{}", users::name(user));
    match mode {
        Mode::Users => vec![home, temporary_of(user)],
        Mode::Host(_) => vec![home],
    }
}

/// Makes a user's outermost folders, as far as they are missing. Nothing within them is touched: an
/// earlier holder may have left links.
pub(crate) fn prepare(places: &Places, settings: &Settings, user: User) -> io::Result<()> {
    folders_of(&settings.mode, user)
        .into_iter()
        .try_for_each(|path| make_folder(&real(places, &path)?, PRIVATE))
}

/// Makes a user's folders, which are empty or missing.
pub(crate) fn make(places: &Places, settings: &Settings, user: User) -> io::Result<()> {
    for path in folders_of(&settings.mode, user) {
        let folder = real(places, &path)?;
        make_folder(&folder, PRIVATE)?;
        if let Some(owner) = users::owner(&settings.mode, user) {
            chown(&folder, Some(owner.uid()), Some(owner.gid()))?;
        } else {
            make_folder(&folder.join(TEMPORARY), PRIVATE)?;
        }
    }
    Ok(())
}

/// Replaces all users' homes that an earlier daemon left. Their processes have ended.
pub(crate) fn replace_all(places: &Places, settings: &Settings) -> io::Result<()> {
    for user in users::all() {
        for path in folders_of(&settings.mode, user) {
            let folder = real(places, &path)?;
            let gone = real(places, TRASH)?.join(uuid::Uuid::new_v4().to_string());
            // The image has the folder on another layer or disk.
            fs::rename(&folder, gone).or_else(|_| fs::remove_dir_all(&folder))?;
        }
        make(places, settings, user)?;
    }
    Ok(())
}

/// Returns what a user left in container-wide folders. The list is a hint: the user itself removes
/// it.
pub(crate) fn left_in_shared(places: &Places, owner: Owner) -> Vec<PathBuf> {
    left_in(&SHARED.map(PathBuf::from), &places.roots(), owner.0)
}

/// Returns a user's outermost entries below `folders`, but not below `without`.
fn left_in(folders: &[PathBuf], without: &[&Path], uid: u32) -> Vec<PathBuf> {
    let (mut found, mut pending, mut seen) = (Vec::new(), folders.to_vec(), 0);
    while let Some(folder) = pending.pop() {
        if without.contains(&folder.as_path()) {
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > SHARED_ENTRIES_MAX {
                return found;
            }
            // The link's own metadata.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.uid() == uid {
                found.push(entry.path());
            } else if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    found
}

/// Creates a folder, or gives an existing folder these permissions.
pub(crate) fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    Ok(chmod(path, Bits::from_raw_mode(mode))?)
}

fn real(places: &Places, path: &str) -> io::Result<PathBuf> {
    places
        .real(path)
        .map_err(|failure| io::Error::other(failure.stderr))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_a_user_are_found_and_links_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let [shared, outside] = ["shared", "outside"].map(|name| dir.path().join(name));
        fs::create_dir_all(shared.join("own/inner")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, shared.join("link")).unwrap();
        let uid = fs::metadata(&shared).unwrap().uid();
        let folders = [shared.clone()];
        let mut found = left_in(&folders, &[], uid);
        found.sort();
        assert_eq!(found, [shared.join("link"), shared.join("own")]);
        assert_eq!(left_in(&folders, &[], uid + 1), [] as [PathBuf; 0]);
        assert_eq!(left_in(&folders, &[&shared], uid), [] as [PathBuf; 0]);
    }
}
