//! Removes the databases of Durable Objects that have ceased to exist.
//!
//! The runtime keeps a file for each object that ever was, also after `deleteAll`: 4 KiB for each
//! run that ended. Between the end of old processes and the start of new ones no other process uses
//! a data directory, so they go then.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Size of a database without tables: a single page.
const PAGE_BYTES: usize = 4096;
/// The bytes that start a database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where the first page's head is, which has the schema: its kind, then the number of entries.
const SCHEMA: usize = 100;
/// Page kind for rows.
const ROWS: u8 = 0x0d;
/// A database's file extension.
const EXTENSION: &str = "sqlite";
/// The database with a namespace's alarms.
const ALARMS: &str = "metadata";

/// Removes them below a folder, and returns their number. A missing folder has none.
pub fn remove(folder: &Path) -> io::Result<usize> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            removed += remove(&path)?;
        } else if is_candidate(&path) && is_empty(&path)? {
            fs::remove_file(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Returns whether all of an object's data is in this file: a log would have the rest.
fn is_candidate(path: &Path) -> bool {
    let is_database = path.extension().is_some_and(|end| end == EXTENSION);
    let has_log = path.with_extension(format!("{EXTENSION}-wal")).exists();
    is_database && !has_log && path.file_stem().is_some_and(|stem| stem != ALARMS)
}

/// Returns whether a database is a single page without a table.
fn is_empty(path: &Path) -> io::Result<bool> {
    let mut page = Vec::with_capacity(PAGE_BYTES + 1);
    File::open(path)?
        .take(PAGE_BYTES as u64 + 1)
        .read_to_end(&mut page)?;
    let is_schema_empty =
        page.get(SCHEMA) == Some(&ROWS) && page.get(SCHEMA + 3..SCHEMA + 5) == Some(&[0, 0]);
    Ok(page.len() == PAGE_BYTES && page.starts_with(MAGIC) && is_schema_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: u8) -> Vec<u8> {
        let mut page = MAGIC.to_vec();
        page.resize(PAGE_BYTES, 0);
        page[SCHEMA] = ROWS;
        page[SCHEMA + 4] = entries;
        page
    }

    #[test]
    fn only_databases_without_a_table_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("RUN_TRANSCRIPT");
        fs::create_dir(&objects).unwrap();
        let files = [
            ("ended.sqlite", page(0)),
            ("metadata.sqlite", page(0)),
            ("live.sqlite", page(1)),
            ("logged.sqlite", page(0)),
            ("logged.sqlite-wal", vec![1]),
            ("grown.sqlite", [page(0), page(0)].concat()),
            ("other.txt", page(0)),
        ];
        for (name, content) in &files {
            fs::write(objects.join(name), content).unwrap();
        }
        assert_eq!(remove(folder.path()).unwrap(), 1);
        let stay = files
            .iter()
            .skip(1)
            .filter(|(name, _)| objects.join(name).exists())
            .count();
        assert_eq!(
            (objects.join("ended.sqlite").exists(), stay),
            (false, files.len() - 1)
        );
        assert_eq!(remove(&folder.path().join("missing")).unwrap(), 0);
    }
}
