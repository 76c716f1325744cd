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
use ars_sandboxd::footprint::Footprint;
use ars_types::RunId;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{
    super::{
        disk::blocking_io,
        files::Files,
        git::{Git, GitLimits, GitOutput},
        programs::Script,
        rights,
    },
    mirror::{Locked, Mirror},
    quick::Kept,
    script,
    secrets::{self, Searched},
};

/// Timeout of a checkpoint. The first one of a repository copies its history.
pub(super) const SAVE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Largest index that is copied. A larger one is made again, which reads every file.
const INDEX_MAX_BYTES: u64 = 256 << 20;
/// Bytes of a script's output: a few lines, one of them with every unsaved branch and stash.
pub(super) const OUTPUT_LIMIT: usize = 256 << 10;
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
    pub(super) state: String,
    /// Files that it lacks, or has without their secrets.
    #[serde(default)]
    pub(super) withheld: Vec<String>,
}

/// The last checkpoint of a thread, with the start of the next one of the same run.
#[derive(Default)]
pub(in super::super) struct LastSaved {
    pub(in super::super) saved: Option<Saved>,
    pub(in super::super) kept: Option<Kept>,
}

impl From<Option<Saved>> for LastSaved {
    fn from(saved: Option<Saved>) -> Self {
        Self { saved, kept: None }
    }
}

/// The result of a checkpoint.
pub(in super::super) struct Outcome {
    /// The checkpoint and whether it is new, or `None` if there is nothing to save.
    pub(in super::super) saved: Option<(Saved, bool)>,
    /// The start of the next one.
    pub(in super::super) kept: Option<Kept>,
}

impl Outcome {
    /// Returns the last checkpoint of an unchanged tree. A new run names it too. Blocks.
    pub(super) fn unchanged(
        mirror: &Mirror,
        run: RunId,
        last: Option<Saved>,
        kept: Option<Kept>,
    ) -> io::Result<Self> {
        let saved = match last {
            Some(last) if last.run != run => {
                let number = mirror.store(&run, &last.commit)?;
                Some((
                    Saved {
                        run,
                        number,
                        ..last
                    },
                    true,
                ))
            }
            last => last.map(|last| (last, false)),
        };
        Ok(Self { saved, kept })
    }
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
    footprint: Option<Footprint>,
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
    /// Saves the tree. `kept` is what the last checkpoint of the run left.
    /// An unchanged tree has the last checkpoint, or none if there is nothing to save.
    pub(in super::super) async fn save(
        &self,
        kept: Option<Kept>,
    ) -> Result<Outcome, WorkspaceError> {
        if let Some(kept) = kept
            && let Some(outcome) = self.save_quickly(kept).await?
        {
            return Ok(outcome);
        }
        let prepared = self.prepare().await?;
        let first = self.run_first_script(&prepared).await?;
        if first.commit.is_none() {
            return self.unchanged(prepared, first.state).await;
        }
        let place = prepared.quarantine.path().to_path_buf();
        let skipped_files = first.skipped_files;
        let searched = blocking_io(move || {
            let mut searched = secrets::search(&place)?;
            if skipped_files {
                searched
                    .withheld
                    .push(format!("unreadable files ({})", secrets::unread(&place)?));
            }
            Ok(searched)
        });
        let Searched {
            withheld,
            has_secrets,
        } = searched.await?;
        // The state is that of the files, so that an unchanged tree is recognized although secrets are left out.
        let state = first.state.clone();
        let made = match has_secrets {
            true => self
                .run_script(&prepared, "again")
                .await?
                .unwrap_or_default(),
            false => first,
        };
        let (Some(commit), Some(pack)) = (made.commit, made.pack) else {
            return Err(failed("it reported no commit"));
        };
        let (mirror, run, files) = (
            self.mirror.clone(),
            self.run.clone(),
            Arc::clone(self.files),
        );
        blocking_io(move || {
            let Prepared {
                quarantine,
                footprint,
                _lock,
                ..
            } = prepared;
            mirror.adopt(quarantine.path(), &pack)?;
            let number = mirror.store(&run, &commit)?;
            // The next search would not know the withheld files.
            let footprint = footprint.filter(|_| withheld.is_empty());
            let kept = Kept::from_quarantine(
                (&files, &mirror),
                (quarantine.path(), footprint),
                &state,
                Some(&commit),
            )?;
            let saved = Saved {
                run,
                number,
                commit,
                state,
                withheld: short(withheld),
            };
            Ok(Outcome {
                saved: Some((saved, true)),
                kept,
            })
        })
        .await
    }

    /// Runs the script, and once more after repairing the tree's permissions.
    async fn run_first_script(&self, prepared: &Prepared) -> Result<Reported, WorkspaceError> {
        if let Some(first) = self.run_script(prepared, "new").await? {
            return Ok(first);
        }
        rights::restore(self.git.programs, self.git.place).await?;
        let repaired = self.run_script(prepared, "repaired").await?;
        Ok(repaired.unwrap_or_default())
    }

    async fn unchanged(
        &self,
        prepared: Prepared,
        state: String,
    ) -> Result<Outcome, WorkspaceError> {
        let (mirror, run, files) = (
            self.mirror.clone(),
            self.run.clone(),
            Arc::clone(self.files),
        );
        blocking_io(move || {
            let Prepared {
                quarantine,
                footprint,
                last,
                _lock,
                ..
            } = prepared;
            let last = last.filter(|last| last.state == state);
            let commit = last.as_ref().map(|last| last.commit.as_str());
            let kept = Kept::from_quarantine(
                (&files, &mirror),
                (quarantine.path(), footprint),
                &state,
                commit,
            )?;
            Outcome::unchanged(&mirror, run, last, kept)
        })
        .await
    }

    async fn prepare(&self) -> Result<Prepared, WorkspaceError> {
        let (mirror, files) = (self.mirror.clone(), Arc::clone(self.files));
        let last = self.last.cloned();
        blocking_io(move || {
            // A later change of refs or index counts for the next checkpoint.
            let footprint = Footprint::read(files.folder());
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
            Ok(Prepared {
                mirror: folder,
                quarantine,
                footprint,
                last,
                _lock: lock,
            })
        })
        .await
    }

    /// Returns `None` if git may not read something in the tree.
    async fn run_script(
        &self,
        prepared: &Prepared,
        mode: &str,
    ) -> Result<Option<Reported>, WorkspaceError> {
        let Prepared {
            mirror,
            quarantine,
            last,
            ..
        } = prepared;
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
        let paths = [
            mirror.as_os_str(),
            tree.as_os_str(),
            quarantine.path().as_os_str(),
        ];
        let words = [state, self.base.unwrap_or_default(), mode, MESSAGE].map(std::ffi::OsStr::new);
        let program = self.git.script(&script, &[&paths[..], &words[..]].concat());
        let limits = GitLimits {
            time: SAVE_TIMEOUT,
            output: OUTPUT_LIMIT,
        };
        let output = self.git.run(program, limits).await?;
        match output.exit_code {
            0 => Ok(Some(reported(&output))),
            script::DENIED => Ok(None),
            code => Err(failed(&format!("step {code}: {}", output.own_words()))),
        }
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
    let Ok((file, size)) = files.open_regular(Path::new(".git/index")) else {
        return Ok(());
    };
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
