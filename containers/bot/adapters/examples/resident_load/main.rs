//! Puts load on residents on this machine, for `cargo xtask bench residents`.
//!
//! Prints a JSON line for each operation. Arguments: the data folder, the repository (`tiny`,
//! `small`, `medium`, `hostile`), thread counts separated by commas, rounds. The commands run in
//! the bot's sandbox under Landlock, in which this program also starts them. Beside each thread
//! count the same tree is cloned and installed.

#![expect(clippy::unwrap_used, reason = "a failed measurement ends the program")]
#![expect(clippy::print_stdout, reason = "the result")]

mod checkpoints;
mod lifecycle;
mod origin;
mod samples;
mod threads;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use ars_bot_adapters::{
    residents::{LocalTransport, PROBE_TIMEOUT, ResidentsClient},
    sandbox::{SERVE, SandboxSettings, serve},
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_ports::{Repository, Residents};
use ars_resident::names::Resource;
use ars_types::SandboxKind;
use futures::future::join_all;
use serde_json::json;
use tokio::runtime::Runtime;

use self::{
    checkpoints::{SAVES, checkpoint, write},
    origin::{Origin, Shape, git},
    samples::{Attaches, Samples, timed},
    threads::{Attached, CALLS, attach, call, detach, operation},
};

/// Clones and installs, as a thread without a resident would.
fn cold(folder: &Path, origin: &Path, install: &str, name: &str) {
    git(
        folder,
        &[
            "clone",
            "-q",
            "--no-hardlinks",
            &origin.display().to_string(),
            name,
        ],
    );
    let tree = folder.join(name);
    let status = Command::new("bash")
        .args(["-c", install])
        .current_dir(&tree)
        .status()
        .unwrap();
    assert!(status.success());
}

async fn colds(folder: &Path, origin: &Path, install: &str, names: Vec<String>) -> Samples {
    let clones = names.into_iter().map(|name| {
        let (folder, origin, install) = (folder.to_owned(), origin.to_owned(), install.to_owned());
        let clone = move || cold(&folder, &origin, &install, &name);
        timed(async move {
            tokio::task::spawn_blocking(clone).await.unwrap();
            Ok(Attached::Yes)
        })
    });
    let mut samples = Samples::default();
    join_all(clones)
        .await
        .into_iter()
        .for_each(|one| samples.note(one));
    samples
}

/// Returns the bytes on the disk below a folder.
fn disk(folder: &Path) -> u64 {
    let output = Command::new("du")
        .args(["-s", "--block-size=1"])
        .arg(folder)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Measures several threads at once. Returns the peak disk use in bytes.
async fn load(residents: &dyn Residents, data: &Path, count: usize, rounds: usize) -> u64 {
    let mut attaches = Attaches::default();
    let [mut detaches, mut operations] = [(); 2].map(|()| Samples::default());
    let mut calls = CALLS.map(|_| Samples::default());
    let mut saved = SAVES.map(|_| Samples::default());
    let mut peak = 0;
    for round in 0..rounds {
        let names: Vec<String> = (0..count)
            .map(|number| format!("load:{count}.{round}.{number}"))
            .collect();
        lifecycle::until_no_trash(data).await;
        lifecycle::until_spare(residents).await;
        let found = join_all(names.iter().map(|name| timed(attach(residents, name)))).await;
        let is_attached =
            |found: &Result<Attached, _>| matches!(found, Ok(Attached::Yes | Attached::Spare));
        let attached: Vec<&String> = names
            .iter()
            .zip(&found)
            .filter(|(_, one)| is_attached(&one.1))
            .map(|(name, _)| name)
            .collect();
        found.into_iter().for_each(|one| attaches.note(one));
        peak = peak.max(disk(data));
        for (route, samples) in CALLS.iter().zip(&mut calls) {
            let found = join_all(
                attached
                    .iter()
                    .map(|name| timed(call(residents, *route, name))),
            )
            .await;
            found.into_iter().for_each(|one| samples.note(one));
        }
        for ((_, content), samples) in SAVES.iter().zip(&mut saved) {
            if let Some(content) = content {
                join_all(attached.iter().map(|name| write(residents, name, content))).await;
            }
            let found = join_all(
                attached
                    .iter()
                    .map(|name| timed(checkpoint(residents, name))),
            )
            .await;
            found.into_iter().for_each(|one| samples.note(one));
        }
        let found = join_all(attached.iter().map(|name| timed(detach(residents, name)))).await;
        found.into_iter().for_each(|one| detaches.note(one));
        let found = join_all(attached.iter().map(|_| timed(operation(residents)))).await;
        found.into_iter().for_each(|one| operations.note(one));
    }
    attaches.print(count, "");
    for (route, samples) in CALLS.iter().zip(&calls) {
        samples.print(count, route.parts().0.trim_start_matches('/'));
    }
    for ((name, _), samples) in SAVES.iter().zip(&saved) {
        samples.print(count, name);
    }
    detaches.print(count, "detach");
    operations.print(count, "op");
    peak
}

fn main() {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == SERVE => serve(rest).unwrap(),
        _ => Runtime::new().unwrap().block_on(measure()),
    }
}

async fn measure() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, shape, threads, rounds] = arguments.as_slice() else {
        panic!("folder, repository, threads and rounds are missing");
    };
    let folder = PathBuf::from(folder);
    let shape = Shape::named(shape).unwrap();
    let install = shape.install();
    let origin = Origin::make(&folder, shape);
    let environment =
        ChildEnvironment::from_service(|name| (name == "PATH").then(|| "/usr/bin:/bin".into()));
    let data = folder.join("data");
    let entry = std::env::current_exe().ok();
    let sandbox = SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        entry,
        ..SandboxSettings::default()
    };
    let local = Arc::new(GitWorkspaces::new(&data, environment, sandbox));
    let path = origin.path.display().to_string();
    let known = move |resource: &Resource| {
        Some(Repository {
            name: resource.slug().to_owned(),
            origin: path.clone(),
        })
    };
    let transport = LocalTransport::new(
        data.join("residents"),
        Arc::clone(&local),
        Arc::new(known),
        "bench".to_owned(),
    );
    let transport = Arc::new(transport);
    let residents = ResidentsClient::over(Arc::clone(&transport), PROBE_TIMEOUT * 10);
    let (time, ()) = timed(lifecycle::onboard(&residents, &install)).await;
    Samples::single(time).print(0, "onboard");
    let rounds: usize = rounds.parse().unwrap();
    let mut peak = 0;
    for count in threads
        .split(',')
        .map(|text| text.parse::<usize>().unwrap())
    {
        peak = peak.max(load(&residents, &data, count, rounds).await);
        let names = (0..count)
            .map(|number| format!("cold-{count}-{number}"))
            .collect();
        colds(&folder, &origin.path, &install, names)
            .await
            .print(count, "clone+install");
    }
    lifecycle::refresh(&residents, &*transport, &origin).await;
    lifecycle::restore(&residents, &*transport).await;
    checkpoints::local(&local, &origin).await;
    println!(
        "{}",
        json!({"threads": 0, "operation": "peak disk", "bytes": peak, "errors": 0})
    );
}
