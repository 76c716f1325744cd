//! Saves a working tree as a commit in its mirror.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ars_bot_ports::{Checkpoint, WorkspaceError};
use ars_resident::saved_work::MESSAGE;
use ars_types::RunId;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{
    super::{
        disk::blocking_io,
        files::Files,
        git::{Git, GitOutput, Limits},
        programs::Script,
    },
    mirror::{Locked, Mirror},
    script,
    secrets::{self, Searched},
};

/// Timeout of a checkpoint. The first one of a repository copies its history.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Largest index that is copied. A larger one is made again, which reads every file.
const INDEX_MAX_BYTES: u64 = 256 << 20;
/// Bytes of a script's output: a few lines, one of them with every unsaved branch and stash.
const OUTPUT_LIMIT: usize = 256 << 10;
/// Most files that a checkpoint names as withheld.
const WITHHELD_MAX: usize = 20;

/// The last checkpoint of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Saved {
    /// Its run.
    pub(in super::super) run: RunId,
    /// Its number within the run.
    pub(in super::super) number: u64,
    /// Its commit.
    pub(in super::super) commit: String,
    /// The state of the tree that it was made of: commit, tree, and other branches.
    state: String,
    /// Files that it lacks, or has without their secrets.
    #[serde(default)]
    withheld: Vec<String>,
}

impl Saved {
    /// Returns the last checkpoint of a run in a mirror, which is made of no known state.
    pub(in super::super) fn stored(mirror: &Mirror, run: &RunId) -> io::Result<Option<Self>> {
        let last = mirror.stored(run.as_str())?.into_iter().next();
        Ok(last.map(|last| Self {
            run: run.clone(),
            number: last.number,
            commit: last.commit,
            state: String::new(),
            withheld: Vec::new(),
        }))
    }

    /// Returns it for callers.
    pub(in super::super) fn checkpoint(&self, is_new: bool) -> Checkpoint {
        Checkpoint {
            git_ref: Mirror::name_of(&self.run, self.number),
            commit: self.commit.clone(),
            is_new,
            withheld: self.withheld.clone(),
        }
    }
}

/// The checkpoint of one tree.
pub(in super::super) struct Saving<'a> {
    pub(in super::super) git: Git<'a>,
    pub(in super::super) files: &'a Arc<Files>,
    pub(in super::super) mirror: &'a Mirror,
    pub(in super::super) run: &'a RunId,
    /// The commit that the tree started from, which the origin has.
    pub(in super::super) base: Option<&'a str>,
    /// The last checkpoint of the thread.
    pub(in super::super) last: Option<&'a Saved>,
}

/// The folders of a checkpoint that is being made.
struct Prepared {
    mirror: PathBuf,
    quarantine: TempDir,
    /// The last checkpoint, if the mirror still has it.
    last: Option<Saved>,
    _lock: Locked,
}

/// The lines of a script's output.
#[derive(Debug, Default)]
struct Reported {
    state: String,
    skipped_files: bool,
    commit: Option<String>,
    pack: Option<String>,
}

impl Saving<'_> {
    /// Saves the tree, and returns the checkpoint and whether it is new.
    /// Returns the last one for an unchanged tree, and `None` if there is nothing to save.
    pub(in super::super) async fn save(&self) -> Result<Option<(Saved, bool)>, WorkspaceError> {
        let prepared = self.prepare().await?;
        let first = self.run_script(&prepared, "new").await?;
        if first.commit.is_none() {
            return self.unchanged(prepared, &first.state).await;
        }
        let place = prepared.quarantine.path().to_path_buf();
        let skipped_files = first.skipped_files;
        let searched = blocking_io(move || {
            let mut searched = secrets::search(&place)?;
            if skipped_files {
                searched.withheld.push(format!("unreadable files ({})", secrets::unread(&place)?));
            }
            Ok(searched)
        });
        let Searched { withheld, has_secrets } = searched.await?;
        // The state is that of the files, so that an unchanged tree is recognized although secrets are left out.
        let state = first.state.clone();
        let made = if has_secrets { self.run_script(&prepared, "again").await? } else { first };
        let (Some(commit), Some(pack)) = (made.commit, made.pack) else {
            return Err(failed("it reported no commit"));
        };
        let (mirror, run) = (self.mirror.clone(), self.run.clone());
        blocking_io(move || {
            mirror.adopt(prepared.quarantine.path(), &pack)?;
            let number = mirror.store(&run, &commit)?;
            Ok(Some((Saved { run, number, commit, state, withheld: short(withheld) }, true)))
        })
        .await
    }

    /// Returns the last checkpoint of an unchanged tree. A new run names it too.
    async fn unchanged(
        &self,
        prepared: Prepared,
        state: &str,
    ) -> Result<Option<(Saved, bool)>, WorkspaceError> {
        let (mirror, run, state) = (self.mirror.clone(), self.run.clone(), state.to_owned());
        blocking_io(move || {
            let Some(last) = prepared.last.filter(|last| last.state == state) else { return Ok(None) };
            prepared.quarantine.close()?;
            if last.run == run {
                return Ok(Some((last, false)));
            }
            let number = mirror.store(&run, &last.commit)?;
            Ok(Some((Saved { run, number, ..last }, true)))
        })
        .await
    }

    async fn prepare(&self) -> Result<Prepared, WorkspaceError> {
        let (mirror, files) = (self.mirror.clone(), Arc::clone(self.files));
        let last = self.last.cloned();
        blocking_io(move || {
            let folder = mirror.prepare()?;
            let lock = mirror.lock()?;
            let quarantine = mirror.quarantine()?;
            copy_index(&files, quarantine.path())?;
            let last = match last {
                Some(last) if mirror.has(&last.run, last.number, &last.commit)? => Some(last),
                _ => None,
            };
            let known = match &last {
                Some(last) => vec![last.commit.clone()],
                None => mirror.known()?,
            };
            let known: String = known.iter().map(|commit| format!("^{commit}\n")).collect();
            fs::write(quarantine.path().join("known"), known)?;
            fs::write(quarantine.path().join("title"), format!("{MESSAGE}\n\n"))?;
            Ok(Prepared { mirror: folder, quarantine, last, _lock: lock })
        })
        .await
    }

    async fn run_script(&self, prepared: &Prepared, mode: &str) -> Result<Reported, WorkspaceError> {
        let Prepared { mirror, quarantine, last, .. } = prepared;
        let tree = self.git.place.join("tree");
        let state = last.as_ref().map_or("", |last| &last.state);
        let writable = [quarantine.path()];
        let script = Script {
            text: script::SAVE,
            name: "checkpoint",
            folder: quarantine.path(),
            writable: &writable,
            readable: &[&tree, mirror],
        };
        let paths = [mirror.as_os_str(), tree.as_os_str(), quarantine.path().as_os_str()];
        let words = [state, self.base.unwrap_or_default(), mode].map(std::ffi::OsStr::new);
        let program = self.git.script(&script, &[&paths[..], &words[..]].concat());
        let limits = Limits { time: SAVE_TIMEOUT, output: OUTPUT_LIMIT };
        let output = self.git.run(program, limits).await?;
        if output.exit_code != 0 {
            return Err(failed(&format!("step {}: {}", output.exit_code, output.own_words())));
        }
        Ok(reported(&output))
    }
}

fn reported(output: &GitOutput) -> Reported {
    let mut found = Reported::default();
    for line in String::from_utf8_lossy(&output.output).lines() {
        match line.split_once(' ') {
            Some(("state", state)) => found.state = state.to_owned(),
            Some(("added", code)) => found.skipped_files = code != "0",
            Some(("commit", commit)) => found.commit = Some(commit.to_owned()),
            Some(("pack", pack)) => found.pack = Some(pack.to_owned()),
            _ => {}
        }
    }
    found
}

/// Copies the index of a tree with its time of change.
/// By it git recognizes files that changed in the same moment.
fn copy_index(files: &Files, quarantine: &Path) -> io::Result<()> {
    // An index that cannot be read is made again.
    let Ok((file, size)) = files.open_regular(Path::new(".git/index")) else { return Ok(()) };
    if size > INDEX_MAX_BYTES {
        return Ok(());
    }
    let changed = file.metadata()?.modified()?.into_std();
    let mut copy = File::create(quarantine.join("index"))?;
    io::copy(&mut file.take(INDEX_MAX_BYTES), &mut copy)?;
    copy.set_modified(changed)
}

fn short(mut withheld: Vec<String>) -> Vec<String> {
    let further = withheld.len().saturating_sub(WITHHELD_MAX);
    withheld.truncate(WITHHELD_MAX);
    if further > 0 {
        withheld.push(format!("{further} further files"));
    }
    withheld
}

fn failed(reason: &str) -> WorkspaceError {
    WorkspaceError::Infra(format!("the working tree could not be saved: {reason}"))
}
