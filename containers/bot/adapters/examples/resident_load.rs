//! Load on residents of this machine, for `cargo xtask bench residents`.
//!
//! Prints one line of JSON for each operation. Arguments: the folder of the data, files of the repository, files of its
//! dependencies, threads by comma, rounds. The commands run in the sandbox of the bot. Beside each number of threads the
//! same tree is cloned and installed.

#![expect(clippy::unwrap_used, reason = "a failed measurement ends the program")]
#![expect(clippy::print_stdout, reason = "the result")]

use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use ars_bot_adapters::{
    residents::{LocalTransport, PROBE_TIMEOUT, ResidentsClient},
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_ports::{Repository, Residents, ResidentsError};
use ars_resident::{
    names::Resource,
    wire::{Live, Route},
};
use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const RESOURCE: &str = "repo:bench/app";
/// Interval at which the state of the resident is read.
const POLL: Duration = Duration::from_millis(20);
/// Files of one folder.
const FOLDER_FILES: usize = 100;

/// A measured operation: its durations, and the number of its failures.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    errors: usize,
}

impl Samples {
    fn note<T>(&mut self, (time, result): (Duration, Result<T, ResidentsError>)) {
        match result {
            Ok(_) => self.times.push(time),
            Err(error) => {
                eprintln!("{error}");
                self.errors += 1;
            }
        }
    }

    /// Returns a percentile over successes by the nearest rank.
    fn percentile(&self, percent: usize) -> Option<f64> {
        let mut times = self.times.clone();
        times.sort_unstable();
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map(|time| time.as_secs_f64() * 1_000.0)
    }

    fn print(&self, threads: usize, operation: &str) {
        let line = json!({
            "threads": threads, "operation": operation, "p50Ms": self.percentile(50),
            "p95Ms": self.percentile(95), "count": self.times.len(), "errors": self.errors,
        });
        println!("{line}");
    }
}

fn request<T: DeserializeOwned>(fields: &Value) -> T {
    let mut body = json!({ "resource": RESOURCE });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(body).unwrap()
}

async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let result = work.await;
    (start.elapsed(), result)
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").args(identity).args(arguments).current_dir(folder).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

/// Makes the repository at the code host.
fn make_origin(folder: &Path, files: usize) -> PathBuf {
    let source = folder.join("source");
    for number in 0..files {
        let parent = source.join(format!("src/{}", number / FOLDER_FILES));
        fs::create_dir_all(&parent).unwrap();
        fs::write(parent.join(format!("{number}.txt")), format!("{number}\n").repeat(40)).unwrap();
    }
    fs::write(source.join("README.md"), "bench\n").unwrap();
    fs::write(source.join("package-lock.json"), "{}\n").unwrap();
    fs::write(source.join(".gitignore"), "node_modules\n").unwrap();
    git(&source, &["init", "-q"]);
    git(&source, &["add", "."]);
    git(&source, &["commit", "-qm", "first"]);
    git(folder, &["clone", "-q", "--bare", "source", "origin.git"]);
    folder.join("origin.git")
}

fn install(files: usize) -> String {
    format!(
        "mkdir -p node_modules/dep && cd node_modules/dep && for i in $(seq {files}); do echo \"module.exports = $i\" \
         >$i.js; done"
    )
}

/// Clones and installs, as a thread without a resident would.
fn cold(folder: &Path, origin: &Path, install: &str, name: &str) {
    git(folder, &["clone", "-q", "--no-hardlinks", &origin.display().to_string(), name]);
    let tree = folder.join(name);
    let status = Command::new("bash").args(["-c", install]).current_dir(&tree).status().unwrap();
    assert!(status.success());
}

async fn onboard(residents: &dyn Residents, install: &str) {
    let never = CancellationToken::new();
    let commands = json!({"install": install, "build": "true", "test": "true"});
    let body = request(&json!({"defaultRef": "main", "commands": commands}));
    residents.onboard(&body, &never).await.unwrap();
    loop {
        let list = residents.list(&never).await.unwrap();
        match &list.residents[0].live {
            Live::View(view) if view.state.as_str() == "warm" => return,
            Live::View(view) => assert_ne!(view.state.as_str(), "down", "{:?}", view.reason),
            Live::Unreachable(error) => panic!("{}", error.error),
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The operations of one thread, in this order.
const OPERATIONS: [Route; 5] = [Route::Attach, Route::Exec, Route::Read, Route::Write, Route::Detach];

async fn thread(residents: &dyn Residents, name: String) -> Vec<(Duration, Result<(), ResidentsError>)> {
    let never = CancellationToken::new();
    let mut found = Vec::new();
    for operation in OPERATIONS {
        let mut fields = match operation {
            Route::Attach => json!({"refHint": "main"}),
            Route::Exec => json!({"command": "true"}),
            Route::Read => json!({"path": "README.md"}),
            Route::Write => json!({"path": "notes/new.txt", "content": "text\n"}),
            _ => json!({"force": true}),
        };
        fields["threadKey"] = format!("load:{name}").into();
        let work = async {
            match operation {
                Route::Attach => residents.attach(&request(&fields), &never).await.map(drop),
                Route::Exec => residents.exec(&request(&fields), &never).await.map(drop),
                Route::Read => residents.read(&request(&fields), &never).await.map(drop),
                Route::Write => residents.write(&request(&fields), &never).await.map(drop),
                _ => residents.detach(&request(&fields), &never).await.map(drop),
            }
        };
        found.push(timed(work).await);
    }
    found
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, files, dependencies, threads, rounds] = arguments.as_slice() else {
        panic!("folder, files, dependencies, threads and rounds are missing");
    };
    let folder = PathBuf::from(folder);
    let install = install(dependencies.parse().unwrap());
    let origin = make_origin(&folder, files.parse().unwrap());
    let environment = ChildEnvironment::from_service(|name| (name == "PATH").then(|| "/usr/bin:/bin".into()));
    let data = folder.join("data");
    let local = Arc::new(GitWorkspaces::new(&data, environment, SandboxSettings::default()));
    let path = origin.display().to_string();
    let known = move |resource: &Resource| {
        Some(Repository { name: resource.slug().to_owned(), origin: path.clone() })
    };
    let transport = LocalTransport::new(data.join("residents"), local, Arc::new(known), "bench".to_owned());
    let residents = ResidentsClient::over(transport, PROBE_TIMEOUT * 10);
    let (time, ()) = timed(onboard(&residents, &install)).await;
    println!(
        "{}",
        json!({"threads": 0, "operation": "onboard", "p50Ms": time.as_secs_f64() * 1_000.0, "errors": 0})
    );
    for count in threads.split(',').map(|text| text.parse::<usize>().unwrap()) {
        let mut all: Vec<Samples> = OPERATIONS.iter().map(|_| Samples::default()).collect();
        let mut colds = Samples::default();
        for round in 0..rounds.parse::<usize>().unwrap() {
            let threads = (0..count).map(|number| thread(&residents, format!("{count}.{round}.{number}")));
            for found in join_all(threads).await {
                all.iter_mut().zip(found).for_each(|(samples, one)| samples.note(one));
            }
            let clones = (0..count).map(|number| {
                let (folder, origin, install) = (folder.clone(), origin.clone(), install.clone());
                let name = format!("cold-{count}-{round}-{number}");
                let clone = move || cold(&folder, &origin, &install, &name);
                timed(async { tokio::task::spawn_blocking(clone).await.map_err(|_| ResidentsError::Busy) })
            });
            join_all(clones).await.into_iter().for_each(|one| colds.note(one));
        }
        for (operation, samples) in OPERATIONS.iter().zip(&all) {
            samples.print(count, operation.parts().0.trim_start_matches('/'));
        }
        colds.print(count, "clone+install");
    }
}
