//! A simulated container with a disk: effect and answer for each plan operation.

use std::collections::{BTreeMap, BTreeSet};

use ars_resident::daemon::{
    Answer, CommandEnd, DiskState, FailureKind, Materialised, SavedCheckpoint, StepFailure,
    StepInput,
};
use ars_resident::layout::{CHECKOUT, DEPS, MIRROR, SPARE};
use ars_resident::lifecycle::{Markers, TreesState};
use ars_resident::names::{BackupId, LockfileKey, RuntimeId, Sha};
use ars_resident::plan::{Operation, PlanStep, Unprivileged, User};
use ars_resident::saved_work::MESSAGE;
use ars_resident::thread::{CredentialFile, Deps, TreeCheck};

/// Branches with their commits.
pub type Branches = BTreeMap<String, Sha>;

/// A thread's tree.
#[derive(Debug, Clone)]
pub struct Tree {
    pub sha: Sha,
    /// It has work that no checkpoint saved.
    pub is_dirty: bool,
}

/// A container that the tests simulate.
#[derive(Debug, Clone)]
pub struct Container {
    pub id: RuntimeId,
    pub mirror: Option<Branches>,
    pub markers: Markers,
    pub trees: BTreeMap<String, Tree>,
    /// Checkouts that operations made.
    pub ops: BTreeSet<String>,
    /// The credential file that threads have in their trees.
    pub credential: CredentialFile,
    /// Entries in the dependency store.
    pub deps: BTreeSet<LockfileKey>,
    /// Number of keys that the last store sweep kept.
    pub kept_deps: Option<usize>,
    pub checkpoints: u32,
    /// Users with killed processes.
    pub killed: BTreeSet<String>,
}

pub fn sha(number: u64) -> Sha {
    Sha::parse(format!("{number:040x}")).unwrap()
}

fn command(stdout: &str, exit_code: i32) -> Answer {
    let (stdout, stderr) = (stdout.to_owned(), String::new());
    let refused = Vec::new();
    Answer::Command(CommandEnd {
        stdout,
        stderr,
        exit_code,
        timed_out: false,
        free_kib: None,
        refused,
    })
}

impl Container {
    pub fn new(number: u32) -> Self {
        Self {
            id: RuntimeId::parse(format!("runtime-{number}")).unwrap(),
            mirror: None,
            markers: Markers::default(),
            trees: BTreeMap::new(),
            ops: BTreeSet::new(),
            credential: CredentialFile::Missing,
            deps: BTreeSet::new(),
            kept_deps: None,
            checkpoints: 0,
            killed: BTreeSet::new(),
        }
    }

    /// Performs an operation, given the code host and the object storage.
    pub fn perform(
        &mut self,
        step: &PlanStep,
        input: &StepInput,
        host: &Branches,
        objects: &mut BTreeMap<BackupId, Branches>,
    ) -> Result<Answer, StepFailure> {
        let missing = || StepFailure::new(FailureKind::NotFound, "not on the disk");
        Ok(match &step.operation {
            Operation::Git { args, cwd, .. } => return self.git(args, cwd, host),
            Operation::RemoveTree { path } | Operation::DiscardTree { path } => {
                self.remove(path);
                Answer::Done
            }
            Operation::SetMirrorAside => {
                self.remove(MIRROR);
                Answer::Done
            }
            Operation::CheckTree { tree, tip } => {
                let found = self.trees.get(tree);
                let check = found.map(|found| TreeCheck {
                    has_tracked_changes: found.is_dirty,
                    has_tip: tip.as_ref().is_none_or(|tip| *tip == found.sha),
                    ..TreeCheck::MISSING
                });
                Answer::Tree { check }
            }
            Operation::Checkpoint { tree } => {
                self.checkpoints += 1;
                let found = self.trees.get_mut(tree).ok_or_else(missing)?;
                found.is_dirty = false;
                let run = match input {
                    StepInput::Checkpoint { run: Some(run) } => run.as_str(),
                    _ => "thread",
                };
                let git_ref = format!("refs/ars/{run}/{}", self.checkpoints);
                let saved = SavedCheckpoint {
                    git_ref,
                    sha: found.sha.clone(),
                    is_new: true,
                    withheld: Vec::new(),
                };
                Answer::Saved {
                    checkpoint: Some(saved),
                }
            }
            Operation::Inspect => Answer::Inspected(DiskState {
                runtime: self.id.clone(),
                build: "test".to_owned(),
                markers: Markers {
                    deps_key: self
                        .markers
                        .deps_key
                        .clone()
                        .filter(|key| self.deps.contains(key)),
                    ..self.markers.clone()
                },
                free_kib: Some(1 << 22),
                trees: match self.trees.values().any(|tree| tree.is_dirty) {
                    true => TreesState::Dirty,
                    false => TreesState::Clean,
                },
            }),
            Operation::Unmark { has_deps } => {
                (self.markers.built, self.markers.ready) = (None, None);
                if *has_deps {
                    self.markers.deps_key = None;
                }
                Answer::Done
            }
            Operation::Mark { sha, key } => {
                self.markers.ready = Some(sha.clone());
                (self.markers.head, self.markers.built) = (Some(sha.clone()), Some(sha.clone()));
                self.markers.deps_key = Some(key.clone());
                Answer::Marked {
                    runtime: self.id.clone(),
                }
            }
            Operation::LockfileListing { sha } => Answer::Listing {
                text: sha.as_str()[..38].to_owned(),
            },
            Operation::Install { key, .. } => {
                let is_new = self.deps.insert(key.clone());
                Answer::Materialised {
                    from: if is_new {
                        Materialised::Install
                    } else {
                        Materialised::Store
                    },
                }
            }
            Operation::AdoptDeps { key, .. } if self.deps.contains(key) => Answer::Materialised {
                from: Materialised::Store,
            },
            Operation::AdoptDeps { backup: None, .. } => Answer::Materialised {
                from: Materialised::Missing,
            },
            Operation::AdoptDeps {
                key,
                backup: Some(backup),
            } => {
                assert!(
                    matches!(
                        input,
                        StepInput::Download {
                            sha256: Some(_),
                            ..
                        }
                    ),
                    "an unverified download"
                );
                objects.get(backup).ok_or_else(missing)?;
                self.deps.insert(key.clone());
                Answer::Materialised {
                    from: Materialised::Archive,
                }
            }
            Operation::TakeSpare { tree } => {
                let spare = self.trees.remove(SPARE).ok_or_else(missing)?;
                assert!(
                    self.trees.insert(tree.clone(), spare).is_none(),
                    "a tree is replaced"
                );
                Answer::Done
            }
            Operation::LinkDeps { key, .. } => {
                self.deps.get(key).ok_or_else(missing)?;
                Answer::Linked {
                    deps: Deps::Hardlink,
                }
            }
            Operation::Archive { path, .. } => {
                let StepInput::Upload { backup, .. } = input else {
                    panic!("an archive needs a target")
                };
                let is_there = !path.starts_with(DEPS)
                    || self.deps.iter().any(|key| path.ends_with(key.as_str()));
                let archived = self
                    .mirror
                    .clone()
                    .filter(|_| is_there)
                    .ok_or_else(missing)?;
                objects.insert(backup.clone(), archived);
                let (backup, sha256) = (backup.clone(), "0".repeat(64));
                Answer::Archived {
                    backup,
                    bytes: 1,
                    sha256,
                }
            }
            Operation::Extract { backup, path } => {
                let archived = objects.get(backup).ok_or_else(missing)?;
                if path == MIRROR {
                    self.mirror = Some(archived.clone());
                }
                Answer::Extracted {
                    bytes: 1,
                    sha256: "0".repeat(64),
                }
            }
            Operation::TableCommand {
                command: text,
                user,
                ..
            } => {
                assert!(
                    step.user == User::Unprivileged(*user),
                    "a command of the table runs as root"
                );
                let fails = matches!(user, Unprivileged::Pool(_)) && text.as_str() == "false";
                command("", i32::from(fails))
            }
            Operation::ExecCommand {
                command: text, cwd, ..
            } => {
                let tree = self.trees.get_mut(cwd).ok_or_else(missing)?;
                tree.is_dirty |= text.as_str() == "edit";
                command(text.as_str(), 0)
            }
            Operation::WriteFile { path, .. } => {
                let tree = self
                    .trees
                    .iter_mut()
                    .find(|(tree, _)| path.starts_with(*tree));
                tree.ok_or_else(missing)?.1.is_dirty = true;
                Answer::Written { bytes: 1 }
            }
            Operation::ReadFile { path, .. } if path.ends_with("README.md") => {
                self.trees
                    .keys()
                    .find(|tree| path.starts_with(*tree))
                    .ok_or_else(missing)?;
                Answer::File {
                    content: "hello".to_owned(),
                    truncated: false,
                }
            }
            Operation::ReadFile { .. } => return Err(missing()),
            Operation::KillUser { user } => {
                self.killed.insert(user.to_string());
                Answer::Killed { processes: 1 }
            }
            Operation::CheckCredential { .. } => Answer::Credential {
                file: self.credential,
            },
            Operation::SweepDeps { keep } => {
                self.kept_deps = Some(keep.len());
                Answer::Done
            }
            _ => Answer::Done,
        })
    }

    fn git(&mut self, args: &[String], cwd: &str, host: &Branches) -> Result<Answer, StepFailure> {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let failed = || StepFailure {
            exit_code: Some(128),
            free_kib: Some(1 << 22),
            ..StepFailure::new(FailureKind::Exit, "fatal")
        };
        match words.as_slice() {
            ["clone", "--mirror", ..] => self.mirror = Some(host.clone()),
            ["fetch", ..] if cwd == MIRROR => {
                *self.mirror.as_mut().ok_or_else(failed)? = host.clone();
            }
            ["log", ..] => return Ok(command(MESSAGE, 0)),
            ["symbolic-ref", ..] => return Ok(command("main\n", 0)),
            ["rev-parse", .., name] => {
                let branch = name
                    .trim_start_matches("refs/heads/")
                    .trim_end_matches("^{commit}");
                let tip = self
                    .mirror
                    .as_ref()
                    .and_then(|mirror| mirror.get(branch))
                    .ok_or_else(failed)?;
                return Ok(command(&format!("{tip}\n"), 0));
            }
            ["clone", "--no-local", "--branch", branch, .., path] if *path != CHECKOUT => {
                let mirror = self.mirror.as_ref().ok_or_else(failed)?;
                let sha = mirror.get(*branch).ok_or_else(failed)?.clone();
                self.trees.insert(
                    (*path).to_owned(),
                    Tree {
                        sha,
                        is_dirty: false,
                    },
                );
            }
            ["clone", "--no-local", "--no-checkout", .., path] => {
                self.ops.insert((*path).to_owned());
            }
            _ => {}
        }
        Ok(command("", 0))
    }

    fn remove(&mut self, path: &str) {
        if path == MIRROR {
            self.mirror = None;
        }
        let lost = self
            .trees
            .iter()
            .find(|(tree, found)| tree.starts_with(path) && found.is_dirty);
        assert!(lost.is_none(), "unsaved work is removed: {lost:?}");
        self.trees.retain(|tree, _| !tree.starts_with(path));
        self.ops.retain(|op| !op.starts_with(path));
    }
}
