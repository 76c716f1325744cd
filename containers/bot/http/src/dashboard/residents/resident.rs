//! A single resident: state, disk, attach times and trees.

use ars_bot_core::queries::Fleet;
use ars_resident::{
    registry::Record,
    wire::{EngineView, Live, ThreadRow},
};
use ars_types::{RepoSlug, UnixMillis};
use askama::Template;
use axum::response::Response;

use super::{
    disk_bar,
    fleet::{Age, Card, short},
    sparkline::{Sparkline, time},
};
use crate::dashboard::{
    runs::Row,
    shell::{Nav, render},
};

/// Template for a resident's page.
#[derive(Template)]
#[template(path = "resident.html")]
pub(crate) struct ResidentPage {
    nav: Nav,
    version: String,
    card: Card,
    view: Option<Facts>,
    commands: Vec<(String, String)>,
    attaches: Option<Sparkline>,
    trees: Vec<Tree>,
    released: Vec<Tree>,
}

/// Facts about a resident that answered.
struct Facts {
    since: Age,
    sha: Option<String>,
    provisioned: Option<Age>,
    restored: Option<(Age, String)>,
    idle: Option<Age>,
    snapshot: Option<(String, Age)>,
    measured: Option<Age>,
}

/// A thread on the resident.
struct Tree {
    key: String,
    git_ref: String,
    sha: String,
    user: Option<String>,
    attached: Age,
    size: Option<String>,
    dirty: Option<bool>,
    unchecked: Option<Age>,
    checkpoint: Option<String>,
    removed: Option<String>,
    run: Option<Row>,
}

impl ResidentPage {
    /// Returns a repository's page, or `None` if it has no resident.
    pub(crate) fn response(
        nav: Nav,
        fleet: &Fleet,
        slug: &RepoSlug,
        now: UnixMillis,
    ) -> Option<Response> {
        let row = fleet
            .answer
            .residents
            .iter()
            .find(|row| row.record.resource.slug() == slug.as_str())?;
        let view = match &row.live {
            Live::View(view) => Some(&**view),
            Live::Unreachable(_) => None,
        };
        let threads = view.map(|view| view.threads.as_slice()).unwrap_or_default();
        let tree = |thread: &ThreadRow| Tree::for_thread(thread, view, fleet, now);
        Some(render(&Self {
            nav,
            version: fleet.version(),
            card: Card::for_resident(row, now),
            view: view.map(|view| Facts::from_view(view, now)),
            commands: commands(&row.record),
            attaches: view.and_then(|view| Sparkline::from_durations(&view.attach_ms)),
            trees: threads
                .iter()
                .filter(|thread| !thread.evicted)
                .map(tree)
                .collect(),
            released: threads
                .iter()
                .filter(|thread| thread.evicted)
                .map(tree)
                .collect(),
        }))
    }
}

/// Returns the command table.
fn commands(record: &Record) -> Vec<(String, String)> {
    record
        .commands
        .iter()
        .map(|(name, command)| (name.to_string(), command.to_string()))
        .collect()
}

impl Facts {
    fn from_view(view: &EngineView, now: UnixMillis) -> Self {
        let age = |at| Age::since(at, now);
        let snapshot = view.snapshot.as_ref();
        Self {
            since: age(view.updated_at),
            sha: view.sha.as_ref().map(ToString::to_string),
            provisioned: view.provisioned_at.map(age),
            restored: view
                .last_restore
                .map(|restore| (age(restore.at), time(restore.ms))),
            idle: view.idle_since.map(age),
            snapshot: snapshot
                .map(|snapshot| (short(&snapshot.stamp.sha), age(snapshot.created_at))),
            measured: view.disk.as_ref().map(|sample| age(sample.at)),
        }
    }
}

impl Tree {
    fn for_thread(
        thread: &ThreadRow,
        view: Option<&EngineView>,
        fleet: &Fleet,
        now: UnixMillis,
    ) -> Self {
        let sizes = view
            .and_then(|view| view.disk.as_ref())
            .map(|sample| &sample.parts.threads);
        let kib = sizes.and_then(|sizes| sizes.get(&thread.thread_key).copied().flatten());
        Self {
            key: thread.thread_key.to_string(),
            git_ref: thread.git_ref.to_string(),
            sha: short(&thread.sha),
            user: thread.user.map(|user| user.to_string()),
            attached: Age::since(thread.last_attach_at, now),
            size: kib.filter(|_| !thread.evicted).map(disk_bar::size),
            dirty: thread.dirty,
            unchecked: thread.unchecked_since.map(|at| Age::since(at, now)),
            checkpoint: thread.checkpoint.clone(),
            removed: thread.evicted.then(|| {
                thread
                    .evicted_why
                    .clone()
                    .unwrap_or_else(|| "released".to_owned())
            }),
            run: fleet.runs.get(&thread.thread_key).cloned().map(Row::new),
        }
    }
}
