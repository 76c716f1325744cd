//! `workspaceDir`: the working tree folder, lock, and check.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ars_bot_adapters::{
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_testkit::Reply;
use ars_types::SandboxKind;

use crate::support::{Machine, Running, Server, answering, run};

/// How old a tree is that may be evicted.
const HOUR: Duration = Duration::from_secs(3600);

/// Writes a configuration with working trees beside it, in `trees`. Returns its path, and the
/// trees'.
fn configured(machine: &Machine) -> (String, PathBuf) {
    let config = machine.file(
        "ars.yaml",
        "workspaceDir: trees\nexecution: { type: local }\n",
    );
    let root = config.parent().unwrap().canonicalize().unwrap();
    (config.to_str().unwrap().to_owned(), root.join("trees"))
}

/// The workspaces in a folder.
fn workspaces(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect()
}

#[tokio::test]
async fn trees_are_made_and_evicted_in_the_configured_folder() {
    let machine = Machine::new();
    let (config, folder) = configured(&machine);
    let project = machine.project();
    let write = "[[turn]]\n[[turn.call]]\ntool = \"write_file\"\n\
        input = { path = \"notes.txt\", content = \"draft\" }\n[[turn]]\ntext = \"written\"\n";
    let look = "[[turn]]\n[[turn.call]]\ntool = \"bash\"\ninput = { command = \"cat greeting.txt\" }\n\
        [[turn]]\ntext = \"seen\"\n";
    for (thread, script) in [("changed", write), ("clean", look)] {
        let script = machine.file("script.toml", script);
        let arguments = [
            "ask",
            "look",
            "--repo",
            project.to_str().unwrap(),
            "--thread",
            thread,
        ];
        let arguments = [
            &arguments[..],
            &["--config", &config, "--rehearsal", script.to_str().unwrap()],
        ]
        .concat();
        let ended = run(&mut machine.ars(&arguments)).await;
        ended.assert_code(0);
        let shown = format!("working tree: {}", folder.display());
        assert!(ended.stderr.contains(&shown), "{ended:#?}");
    }
    assert!(!machine.path("data/workspaces").exists());
    let thread = machine.records().await.into_iter().find(|record| {
        record["threadKey"]
            .as_str()
            .is_some_and(|key| key.contains("changed"))
    });
    let thread = thread.unwrap()["threadKey"].as_str().unwrap().to_owned();
    let diff = run(&mut machine.ars(&["diff", &thread, "--config", &config])).await;
    diff.assert_code(0);
    assert!(diff.stdout.contains("notes.txt"), "{diff:#?}");
    run(&mut machine.ars(&["diff", &thread]))
        .await
        .assert_refused(
            2,
            "invalid_input",
            &["no working tree here", "runs restore"],
        );

    let places = workspaces(&folder);
    assert_eq!(places.len(), 2, "{places:?}");
    for place in &places {
        fs::File::open(place)
            .unwrap()
            .set_modified(SystemTime::now() - HOUR)
            .unwrap();
    }
    let environment =
        ChildEnvironment::from_service(|name| std::env::var_os(name).filter(|_| name == "PATH"));
    let sandbox = SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        ..SandboxSettings::default()
    };
    let provider =
        GitWorkspaces::new(&machine.path("data"), environment, sandbox).in_folder(folder.clone());
    let usage = provider.measure().await.unwrap();
    assert!(usage.bytes() > 0);
    let evicted = provider.evict(usage, &HashSet::new(), 0).await.unwrap();
    assert_eq!((evicted.count, evicted.kept), (1, workspaces(&folder)));
}

#[tokio::test]
async fn folder_in_use_is_a_conflict() {
    let (machine, fake) = answering([Reply::text("done")]).await;
    let (config, folder) = configured(&machine);
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", &config];
    let server = Server::start(&mut machine.ars_with(&fake.url(), &arguments)).await;
    let shown = folder.to_str().unwrap();
    let ask = ["ask", "hi", "--config", &config];
    // A second service on the same data directory is refused before.
    for (data, arguments) in [("data", &ask[..]), ("other", &ask), ("other", &arguments)] {
        let mut ars = machine.ars_with(&fake.url(), arguments);
        let second = Running::start(ars.env("ARS_DATA_DIR", machine.path(data)))
            .ended()
            .await;
        second.assert_refused(1, "conflict", &["workspaceDir", shown, "another process"]);
    }
    assert_eq!(fake.request_count(), 0);
    // Commands that run no request need no lock.
    run(&mut machine.ars_with(&fake.url(), &["runs", "list", "--config", &config]))
        .await
        .assert_code(0);
    server.terminate().await.assert_code(0);
    run(&mut machine.ars_with(&fake.url(), &ask))
        .await
        .assert_code(0);
}

#[tokio::test]
async fn folder_in_the_data_directory_is_refused() {
    let machine = Machine::new();
    for folder in ["data/meta", "data/memory/x"] {
        let config = machine.file("ars.yaml", &format!("workspaceDir: {folder}\n"));
        let ended =
            run(&mut machine.ars(&["ask", "hi", "--config", config.to_str().unwrap()])).await;
        ended.assert_refused(
            2,
            "invalid_input",
            &["workspaceDir", "outside the data directory"],
        );
    }
    assert!(!machine.path("data").exists(), "nothing is created");
}

#[tokio::test]
async fn doctor_names_the_folder() {
    let (machine, fake) = answering([]).await;
    let (config, folder) = configured(&machine);
    let shown = format!(
        "ok       workspaces: {} does not exist yet",
        folder.display()
    );
    let ended = run(&mut machine.ars_with(&fake.url(), &["doctor", "--config", &config])).await;
    ended.assert_code(0);
    assert!(
        ended.stdout.contains(&shown) && !folder.exists(),
        "{shown} in {}",
        ended.stdout
    );
    fs::write(&folder, "").unwrap();
    let ended = run(&mut machine.ars_with(&fake.url(), &["doctor", "--config", &config])).await;
    ended.assert_code(1);
    assert!(
        ended.stdout.contains("failure  workspaces: "),
        "{}",
        ended.stdout
    );
}
