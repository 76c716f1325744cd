//! The quick way to checkpoint: the files that changed since the same run's last checkpoint.
//!
//! It starts from the index that the last checkpoint left, so git reads and writes only changed
//! files. It is taken while refs, index and ignore rules are unchanged. Whatever is not plain, such
//! as a file with a secret, takes the other way.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ars_bot_ports::WorkspaceError;
use ars_sandboxd::footprint::{Footprint, WatchedTree};
use tempfile::TempDir;

use super::{
    super::{disk::blocking_io, files::Files, git::GitLimits, programs::Script},
    loose,
    mirror::{Locked, Mirror},
    save::{OUTPUT_LIMIT, Outcome, SAVE_TIMEOUT, Saved, Saving},
    script,
};

/// Maximum size of the added file list in bytes.
const ADDED_MAX_BYTES: u64 = 256 << 10;
/// Quarantine files that are kept: the index, and the commit message if there was any.
const KEPT: [&str; 2] = ["index", "message"];

/// Where the run's next checkpoint starts.
pub(in super::super) struct Kept {
    folder: TempDir,
    watched: WatchedTree,
    /// The commit, and the state that it was made from. Without a commit there was nothing to save.
    commit: Option<String>,
    state: String,
}

/// Folders that a quick checkpoint uses.
struct Prepared {
    mirror: PathBuf,
    quarantine: TempDir,
    kept: Kept,
    last: Option<Saved>,
    _lock: Locked,
}

impl Kept {
    /// Keeps a quarantine's index. Returns `None` if the next checkpoint cannot start from it.
    pub(super) fn from_quarantine(
        (files, mirror): (&Files, &Mirror),
        (quarantine, footprint): (&Path, Option<Footprint>),
        state: &str,
        commit: Option<&str>,
    ) -> io::Result<Option<Self>> {
        // A file that a sparse tree lacks would stay hidden when it appears.
        if fs::metadata(quarantine.join("absent")).is_ok_and(|absent| absent.len() > 0) {
            return Ok(None);
        }
        let (Some(footprint), Some(added)) = (footprint, added(quarantine)?) else {
            return Ok(None);
        };
        let Some(watched) = WatchedTree::new(files.folder(), footprint, &added) else {
            return Ok(None);
        };
        let folder = mirror.quarantine()?;
        take(quarantine, folder.path())?;
        let (commit, state) = (commit.map(str::to_owned), state.to_owned());
        Ok(Some(Self {
            folder,
            watched,
            commit,
            state,
        }))
    }

    /// Returns whether a checkpoint can start from it, which follows `last`.
    fn fits(&self, files: &Files, last: Option<&Saved>) -> bool {
        self.watched.is_current(files.folder())
            && self.commit.as_ref() == last.map(|last| &last.commit)
            && last.is_none_or(|last| last.withheld.is_empty())
    }

    /// Returns it for the state that a quick checkpoint left.
    fn followed(
        self,
        files: &Files,
        prepared: &Path,
        commit: Option<String>,
        state: String,
    ) -> Option<Self> {
        let watched = self
            .watched
            .followed(files.folder(), &added(prepared).ok()??)?;
        take(prepared, self.folder.path()).ok()?;
        Some(Self {
            folder: self.folder,
            watched,
            commit,
            state,
        })
    }
}

/// Moves the kept files to another folder. The index keeps the time, by which git knows unsafe
/// entries.
fn take(from: &Path, to: &Path) -> io::Result<()> {
    for name in KEPT {
        match fs::rename(from.join(name), to.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    Ok(())
}

/// Returns the lines about added files, or `None` if they are too many.
fn added(quarantine: &Path) -> io::Result<Option<Vec<u8>>> {
    let place = quarantine.join("added");
    if fs::metadata(&place)?.len() > ADDED_MAX_BYTES {
        return Ok(None);
    }
    fs::read(place).map(Some)
}

impl Saving<'_> {
    /// Saves the tree in the quick way. Returns `None` if the other way must be taken.
    pub(super) async fn save_quickly(&self, kept: Kept) -> Result<Option<Outcome>, WorkspaceError> {
        let Some(prepared) = self.prepare_quickly(kept).await? else {
            return Ok(None);
        };
        let mut state = prepared.kept.state.split(' ').map(str::to_owned);
        let (Some(head), Some(tree)) = (state.next().filter(|head| !head.is_empty()), state.next())
        else {
            return Ok(None);
        };
        let parents: Vec<String> = state.collect();
        let Some(lines) = self
            .run_quick_script(&prepared, &head, &tree, &parents)
            .await?
        else {
            return Ok(None);
        };
        let (mirror, run, files) = (
            self.mirror.clone(),
            self.run.clone(),
            Arc::clone(self.files),
        );
        let finish = move || {
            let Prepared {
                quarantine,
                kept,
                last,
                _lock,
                ..
            } = prepared;
            let place = quarantine.path();
            let line = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
            let (tree, commit) = (line("tree ").unwrap_or(&tree), line("commit "));
            let Some(commit) = commit else {
                let (commit, state) = (kept.commit.clone(), kept.state.clone());
                let kept = kept.followed(&files, place, commit, state);
                return Outcome::unchanged(&mirror, run, last, kept).map(Some);
            };
            let Some(added) = added(place)? else {
                return Ok(None);
            };
            let count = added
                .split(|byte| *byte == b'\n')
                .filter(|line| line.starts_with(b"add '"))
                .count();
            let Some(objects) = loose::searched(place, count)? else {
                return Ok(None);
            };
            let moved = mirror.adopt_loose(place, &objects)?;
            let number = mirror.store(&run, commit)?;
            tokio::task::spawn_blocking(move || loose::flush(&moved));
            let state = [&[head, tree.to_owned()][..], &parents[..]]
                .concat()
                .join(" ");
            let kept = kept.followed(&files, place, Some(commit.to_owned()), state.clone());
            let saved = Saved {
                run,
                number,
                commit: commit.to_owned(),
                state,
                withheld: Vec::new(),
            };
            Ok(Some(Outcome {
                saved: Some((saved, true)),
                kept,
            }))
        };
        blocking_io(finish).await
    }

    async fn prepare_quickly(&self, kept: Kept) -> Result<Option<Prepared>, WorkspaceError> {
        let (mirror, files, last) = (
            self.mirror.clone(),
            Arc::clone(self.files),
            self.last.cloned(),
        );
        blocking_io(move || {
            if !kept.fits(&files, last.as_ref()) {
                return Ok(None);
            }
            let folder = mirror.prepare()?;
            let lock = mirror.lock()?;
            if let Some(last) = &last
                && !mirror.has(&last.run, last.number, &last.commit)?
            {
                return Ok(None);
            }
            let quarantine = mirror.quarantine()?;
            take(kept.folder.path(), quarantine.path())?;
            // Git replaces the index only if a file changed.
            let linked = fs::hard_link(
                quarantine.path().join("index"),
                quarantine.path().join("before"),
            );
            if linked.is_err() {
                // The kept folder was abandoned and removed, or the disk has no hard links.
                return Ok(None);
            }
            Ok(Some(Prepared {
                mirror: folder,
                quarantine,
                kept,
                last,
                _lock: lock,
            }))
        })
        .await
    }

    async fn run_quick_script(
        &self,
        prepared: &Prepared,
        head: &str,
        tree: &str,
        parents: &[String],
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        let Prepared {
            mirror, quarantine, ..
        } = prepared;
        let place = self.git.place.join("tree");
        let writable = [quarantine.path()];
        let script = Script {
            text: script::SAVE_QUICKLY,
            name: "checkpoint",
            folder: quarantine.path(),
            writable: &writable,
            readable: &[&place, mirror],
        };
        let paths = [
            mirror.as_os_str(),
            place.as_os_str(),
            quarantine.path().as_os_str(),
        ];
        let commits = std::iter::once(head).chain(parents.iter().map(String::as_str));
        let words: Vec<&OsStr> = std::iter::once(tree)
            .chain(commits)
            .map(OsStr::new)
            .collect();
        let program = self.git.script(&script, &[&paths[..], &words[..]].concat());
        let limits = GitLimits {
            time: SAVE_TIMEOUT,
            output: OUTPUT_LIMIT,
        };
        let output = self.git.run(program, limits).await?;
        let text = String::from_utf8_lossy(&output.output);
        Ok((output.exit_code == 0).then(|| text.lines().map(str::to_owned).collect()))
    }
}
