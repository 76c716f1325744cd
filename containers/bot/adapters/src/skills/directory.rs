//! Reads a skill folder: `<folder>/<slug>/SKILL.md`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{front_matter, loaded::LoadedSkills};
use crate::error::{MalformedSkill, SkillError};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Maximum file size in bytes: a model reads a whole skill, so a larger file is a mistake.
const MAX_BYTES: u64 = 64 << 10;

/// Loads every skill in the folder; a missing folder or a sub-folder without the file has none.
/// Blocks on files, so call it at process start.
pub fn load(folder: &Path) -> Result<LoadedSkills, SkillError> {
    let mut skills = LoadedSkills::default();
    for path in files(folder)? {
        let Some(text) = text(&path)? else { continue };
        let malformed = |reason| SkillError::Malformed {
            path: path.clone(),
            reason,
        };
        let skill = front_matter::parse(&text).map_err(malformed)?;
        if !skills.add(skill) {
            return Err(malformed(MalformedSkill::DuplicateName));
        }
    }
    Ok(skills)
}

/// Returns the candidate files by name, so that the same folder always fails at the same file.
fn files(folder: &Path) -> Result<Vec<PathBuf>, SkillError> {
    let unreadable = |source| SkillError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(unreadable)?.path().join(FILE));
    }
    paths.sort();
    Ok(paths)
}

/// Returns the file's text; `None` without such a file.
fn text(path: &Path) -> Result<Option<String>, SkillError> {
    let unreadable = |source| SkillError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let malformed = |reason| SkillError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let size = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        // A plain file beside the folders, such as a README, is not a skill.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    if size > MAX_BYTES {
        return Err(malformed(MalformedSkill::TooLarge));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| malformed(MalformedSkill::NotUtf8))
}
