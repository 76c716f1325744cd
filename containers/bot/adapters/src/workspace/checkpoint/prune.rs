//! Removes old checkpoints, and the objects that only they had.

use std::{
    ffi::OsStr,
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        disk::blocking_io,
        git::{Git, GitLimits},
        programs::Programs,
    },
    mirror::{Mirror, QUARANTINE, entries},
};

/// Age from which a run's checkpoints are removed.
const CHECKPOINT_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum runs in a mirror with checkpoints. Those of the oldest runs are removed.
const CHECKPOINT_RUNS_MAX: usize = 500;
/// Pack count from which a mirror's packs are joined, and unused objects removed.
const PACKS_MAX: usize = 64;
/// Objects outside packs from which they are joined to a pack, and unused objects removed.
const LOOSE_MAX: usize = 2_000;
/// Age from which a quarantine belongs to a dead process.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);
/// Timeout for joining a mirror's packs.
const REPACK_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Removes everything beyond the limits from all mirrors in a data directory.
pub(in super::super) async fn prune(
    programs: &Programs,
    data: &Path,
) -> Result<(), WorkspaceError> {
    let data = data.to_path_buf();
    for mirror in blocking_io(move || Mirror::all(&data)).await? {
        let pruned = mirror.clone();
        let counted = blocking_io(move || {
            remove_refs(&pruned)?;
            remove_quarantines(&pruned)?;
            Ok(count_packs(&pruned)? > PACKS_MAX || pruned.count_loose()? > LOOSE_MAX)
        });
        match counted.await {
            Ok(true) => repack(programs, &mirror).await?,
            Ok(false) => {}
            // The others are pruned anyway.
            Err(error) => tracing::warn!(%error, "checkpoints of a mirror were not pruned"),
        }
    }
    Ok(())
}

fn remove_refs(mirror: &Mirror) -> io::Result<()> {
    let mut runs = Vec::new();
    for run in mirror.runs()? {
        let newest = mirror.stored(&run)?.into_iter().next();
        runs.push((newest.map(|stored| stored.at), run));
    }
    runs.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let is_old = |at: Option<SystemTime>| {
        at.is_none_or(|at| at.elapsed().is_ok_and(|age| age > CHECKPOINT_MAX_AGE))
    };
    for (place, (at, run)) in runs.iter().enumerate() {
        if place < CHECKPOINT_RUNS_MAX && !is_old(*at) {
            continue;
        }
        for stored in mirror.stored(run)? {
            mirror.remove(run, stored.number)?;
        }
        // A checkpoint that was just stored stays, with the folder.
        let _ = mirror.forget(run);
    }
    Ok(())
}

fn remove_quarantines(mirror: &Mirror) -> io::Result<()> {
    let Some(folder) = mirror.folder()? else {
        return Ok(());
    };
    for entry in entries(&folder)? {
        let is_quarantine = entry.file_name().to_string_lossy().starts_with(QUARANTINE);
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        if is_quarantine && age > ABANDONED_AFTER {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn count_packs(mirror: &Mirror) -> io::Result<usize> {
    let Some(folder) = mirror.folder()? else {
        return Ok(0);
    };
    let packs = entries(&folder.join("objects/pack"))?;
    Ok(packs
        .iter()
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "pack"))
        .count())
}

/// Joins packs and other objects to a single pack. Objects that no checkpoint has are dropped.
async fn repack(programs: &Programs, mirror: &Mirror) -> Result<(), WorkspaceError> {
    let locked = mirror.clone();
    let locked = blocking_io(move || {
        let Some(lock) = locked.lock_alone()? else {
            return Ok(None);
        };
        Ok(locked.folder()?.map(|folder| (lock, folder)))
    });
    let Some((_lock, folder)) = locked.await? else {
        return Ok(());
    };
    let git = Git {
        programs,
        place: &folder,
        cancel: &CancellationToken::new(),
        group: None,
    };
    for call in [["repack", "-adq"], ["prune", "--expire=now"]] {
        let [command, option] = call.map(OsStr::new);
        let words = ["--git-dir".as_ref(), folder.as_os_str(), command, option];
        let program = git.apart(&[&folder], &[], &words);
        let output = git
            .run(
                program,
                GitLimits {
                    time: REPACK_TIMEOUT,
                    output: 4 << 10,
                },
            )
            .await?;
        output.succeeded()?;
    }
    Ok(())
}
