//! Measures the disk and the parts of it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use ars_resident::daemon::{DiskRequest, StepFailure};
use ars_resident::disk::{Parts, Sample};
use ars_resident::layout::{CHECKOUT, DEPS, MIRROR, home, thread_dir};
use ars_resident::pool::PoolUser;

use crate::{
    failure::{Context as _, Result, invalid},
    process::{Program, Streams, run},
    runtime::{Runtime, words},
    stop::Stop,
};

/// Maximum bytes read from the program's output.
const OUTPUT_MAX: usize = 1 << 20;

/// Measures the disk. A part that could not be read is `None`.
pub(crate) async fn sample(
    runtime: &Runtime,
    request: &DiskRequest,
    stop: &Stop,
) -> std::result::Result<Sample, StepFailure> {
    let (total_kib, free_kib) = runtime
        .space()
        .ok_or_else(|| invalid("the size of the disk cannot be read"))?;
    let real = |path: &str| runtime.places.real(path);
    let fixed = [real(MIRROR)?, real(DEPS)?, real(CHECKOUT)?];
    let threads: Vec<_> = request
        .threads
        .iter()
        .map(|key| Ok((key, real(&thread_dir(key))?)))
        .collect::<Result<_>>()?;
    let homes: Vec<_> = PoolUser::all()
        .map(|user| Ok((user, real(&home(user))?)))
        .collect::<Result<_>>()?;
    // A file with several links counts for the first folder, so the order decides.
    let folders = fixed.iter().chain(threads.iter().map(|(_, path)| path));
    let folders: Vec<&PathBuf> = folders.chain(homes.iter().map(|(_, path)| path)).collect();
    let sizes = measure(runtime, &folders, stop).await?;
    let of = |path: &PathBuf| sizes.get(path).copied();
    let parts = Parts {
        mirror: of(&fixed[0]),
        deps: of(&fixed[1]),
        checkout: of(&fixed[2]),
        threads: threads
            .iter()
            .map(|(key, path)| ((*key).clone(), of(path)))
            .collect(),
        homes: homes.iter().map(|(user, path)| (*user, of(path))).collect(),
        other: None,
    };
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Ok(Sample::new(
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        total_kib,
        free_kib,
        parts,
    ))
}

/// Measures folders with a single program, which walks them in this order.
async fn measure(
    runtime: &Runtime,
    folders: &[&PathBuf],
    stop: &Stop,
) -> Result<HashMap<PathBuf, u64>> {
    let program = Program::of_root(&runtime.programs.du, Path::new("/"));
    let program = program
        .args(words(["-xsk", "--"]))
        .args(folders.iter().map(|path| path.as_os_str()));
    let streams = Streams::create(&runtime.streams()?, None).context("streams")?;
    // The exit code reports missing folders, and it measures the others.
    if let Some(why) = run(runtime, program, &streams, stop).await?.stopped {
        return Err(why.into());
    }
    let output = String::from_utf8_lossy(&streams.heads(OUTPUT_MAX).stdout).into_owned();
    let parse = |line: &str| {
        let (size, path) = line.split_once('\t')?;
        Some((PathBuf::from(path), size.parse().ok()?))
    };
    Ok(output.lines().filter_map(parse).collect())
}
