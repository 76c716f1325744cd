//! Confines resident commands on this machine, as in local trees.
//!
//! A program has a separate sandbox; commands in the same tree share a sandbox (`shared`).

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    future::pending,
    io::{self, PipeWriter},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use ars_resident::daemon::RefusedHost;
use ars_sandboxd::{Confine, Confined, Hold, Place, SharedSandbox, Started};
use futures::future::BoxFuture;

use super::{by_tree::ByTree, shared::LentSandbox};
use crate::{
    egress::{Gate, RunEgress, Scope},
    sandbox::{Access, Membership, Reach, RunGroup, Sandbox},
    workspace::{self, Commands, Input, Keeper, Program, Session, SessionSettings},
};

/// Confines a repository's commands.
pub(super) struct SandboxConfine {
    commands: Arc<Commands>,
    /// The repository's name and origin, which decide which hosts the commands may reach.
    repository: String,
    origin: Option<String>,
    /// Control groups for trees with a program in progress.
    groups: Mutex<HashMap<PathBuf, Weak<RunGroup>>>,
    /// Sandboxes that a tree's commands share.
    sessions: ByTree<Session>,
}

/// A confined program.
struct SandboxedProgram {
    sandbox: Arc<Sandbox>,
    access: Access,
    /// The control group for programs in the same tree.
    group: Option<Arc<RunGroup>>,
    /// The program's proxy, which ends with it.
    gate: Option<Gate>,
    /// Hosts that the proxy refused.
    egress: Option<Arc<RunEgress>>,
}

/// What lasts as long as a program.
struct Held {
    _keeper: Keeper,
    membership: Option<Membership>,
    _lifeline: Option<PipeWriter>,
}

impl SandboxConfine {
    pub(super) fn new(commands: Arc<Commands>, repository: String, origin: Option<String>) -> Self {
        Self {
            commands,
            repository,
            origin,
            groups: Mutex::default(),
            sessions: ByTree::default(),
        }
    }

    /// Returns a program's egress, if programs reach the network through a proxy.
    fn egress(&self) -> Option<Arc<RunEgress>> {
        let Commands {
            egress,
            gate,
            logins,
            upstream,
            ..
        } = &*self.commands;
        // A step does not name the run's agent, so agent lists allow nothing here.
        let scope = Scope {
            agent: None,
            repository: Some(&self.repository),
            origin: self.origin.as_deref(),
        };
        gate.map(|_| RunEgress::new(egress, scope, logins, upstream))
    }

    /// Returns the sandbox that a tree's commands share, started or not.
    fn session(&self, place: &Place) -> Option<Arc<Session>> {
        let settings = || SessionSettings {
            sandbox: Arc::clone(&self.commands.sandbox),
            gate: self.commands.gate,
            access: access_of(place, Reach::Nothing),
            group: place.writable.first().and_then(|tree| self.group_of(tree)),
        };
        match self.sessions.get(place, || Session::new(settings())) {
            Ok(session) => Some(session),
            Err(error) => {
                tracing::warn!(%error, "the commands of a tree share no sandbox");
                None
            }
        }
    }

    /// Returns a tree's control group, which is removed when no program in the tree is in progress.
    fn group_of(&self, tree: &Path) -> Option<Arc<RunGroup>> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|_, group| group.strong_count() > 0);
        if let Some(group) = groups.get(tree).and_then(Weak::upgrade) {
            return Some(group);
        }
        let group = self.commands.sandbox.group_of_run()?;
        groups.insert(tree.to_owned(), Arc::downgrade(&group));
        Some(group)
    }
}

impl Confine for SandboxConfine {
    fn confine(&self, place: &Place) -> io::Result<Arc<dyn Confined>> {
        let Commands { sandbox, gate, .. } = &*self.commands;
        let egress = place.has_network.then(|| self.egress()).flatten();
        let gate = gate
            .zip(egress.as_ref())
            .map(|(kind, egress)| Gate::open(egress, kind))
            .transpose()?;
        let access = access_of(
            place,
            Reach::new(gate.as_ref(), sandbox.network(), place.has_network),
        );
        let group = place.writable.first().and_then(|tree| self.group_of(tree));
        Ok(Arc::new(SandboxedProgram {
            sandbox: Arc::clone(sandbox),
            access,
            group,
            gate,
            egress,
        }))
    }

    fn prepare_shared(&self, place: &Place) {
        if let Some(session) = self.session(place) {
            session.prepare();
        }
    }

    fn share(&self, place: &Place) -> BoxFuture<'_, Option<Box<dyn SharedSandbox>>> {
        let session = self.session(place);
        Box::pin(async move {
            let lent = session?.lend().await?;
            Some(Box::new(LentSandbox::new(lent, self.egress())) as Box<dyn SharedSandbox>)
        })
    }

    fn end_shared(&self, folder: &Path) {
        self.sessions
            .remove_in(folder)
            .iter()
            .for_each(|session| session.end());
    }
}

/// Returns a program's rights with these folders.
fn access_of(place: &Place, reach: Reach) -> Access {
    Access {
        writable: place.writable.clone(),
        readable: place.readable.clone(),
        temporary: place.temporary.clone(),
        reach,
        entry: None,
        is_of_service: false,
    }
}

impl Confined for SandboxedProgram {
    fn command(&self, words: Vec<OsString>) -> Command {
        workspace::command(&[self.sandbox.arguments(&self.access), words].concat())
    }

    fn start(
        self: Arc<Self>,
        command: Command,
        input: Option<File>,
    ) -> BoxFuture<'static, io::Result<Started>> {
        let (access, sandbox) = (Some(self.access.clone()), Arc::clone(&self.sandbox));
        let program = Program {
            command,
            access,
            sandbox,
            group: self.group.clone(),
        };
        Box::pin(async move {
            let started = workspace::start(program, input.map_or(Input::Empty, Input::File)).await;
            let workspace::StartedProgram {
                child,
                lifeline,
                keeper,
                membership,
            } = started.map_err(io::Error::other)?;
            let held = Held {
                _keeper: keeper,
                membership,
                _lifeline: lifeline,
            };
            Ok(Started {
                child,
                hold: Box::new(held),
            })
        })
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let variables = self.gate.iter().flat_map(Gate::variables);
        variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn refused(&self) -> Vec<RefusedHost> {
        self.egress.as_deref().map_or_else(Vec::new, refused_of)
    }
}

/// Returns a program's refused hosts, each once.
pub(super) fn refused_of(egress: &RunEgress) -> Vec<RefusedHost> {
    let report = |refused: ars_bot_ports::RefusedHost| RefusedHost {
        host: refused.host,
        reason: refused.reason,
        setting: refused.setting,
    };
    egress.take_refused().into_iter().map(report).collect()
}

impl Hold for Held {
    fn watch(&self) -> BoxFuture<'_, ()> {
        match &self.membership {
            Some(membership) => Box::pin(membership.watch()),
            None => Box::pin(pending()),
        }
    }
}
