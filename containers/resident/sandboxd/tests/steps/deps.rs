//! The dependency store: an installation per key, empty entries, archives, the sweep.

use std::{
    fs,
    os::unix::{
        fs::MetadataExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use ars_resident::daemon::{
    Answer, FailureKind, Job, Materialised, StepFailure, StepInput, StepRequest, Transfer,
};
use ars_resident::layout::CHECKOUT;
use ars_resident::lifecycle::Step;
use ars_resident::names::{BackupId, LockfileKey, Sha, TableCommand};
use ars_resident::plan::{CycleContext, PlanStep, adopt_deps, archive_deps, install, sweep_deps};
use ars_resident::thread::Deps;
use ars_sandboxd::Progress;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::restore::{archive, extract};
use super::world::{World, git, is_running, main_ref, until};

const MARKER: &str = "/workspace/.resident/deps-installing";

fn step(key: &LockfileKey, sha: &Sha, command: &str) -> PlanStep {
    install(key, sha, &TableCommand::parse(command).unwrap())
}

fn cycle(attempt: u64, step: PlanStep) -> StepRequest {
    StepRequest {
        job: Job::Cycle { attempt },
        step,
        input: StepInput::None,
        lock_wait_ms: None,
    }
}

/// An interrupted installation's marker and scratch checkout survive, and the next installation
/// uses them.
#[tokio::test]
async fn interrupted_installation_continues_in_its_checkout() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let key = LockfileKey::of_listing("other");
        let go = world.dir.path().join("go");
        let command = format!(
            "echo run >> runs; test -e {} || exec tail -f /dev/null; mkdir -p node_modules/x && cp runs node_modules/x",
            go.display()
        );
        let runs = world.real(&format!(
            "/workspace/deps/.scratch-{key}-{}/runs",
            provisioned.sha
        ));
        let [first, second] =
            [2, 3].map(|attempt| cycle(attempt, step(&key, &provisioned.sha, &command)));
        let (progress, token) = (Progress::default(), CancellationToken::new());
        let interrupting = async {
            until(|| fs::read_to_string(&runs).is_ok_and(|text| text == "run\n")).await;
            token.cancel();
        };
        let (end, ()) = tokio::join!(
            world.daemon.perform(&first, &progress, &token),
            interrupting
        );
        assert_eq!(end.result.unwrap_err().kind, FailureKind::Cancelled);
        assert_eq!(
            fs::read_to_string(world.real(MARKER)).unwrap(),
            key.as_str()
        );
        fs::write(&go, "").unwrap();
        let end = world
            .daemon
            .perform(&second, &progress, &CancellationToken::new())
            .await;
        assert_eq!(
            end.result,
            Ok(Answer::Materialised {
                from: Materialised::Install
            })
        );
        let copied = world.real(&format!("/workspace/deps/{key}/node_modules/x/runs"));
        assert_eq!(
            fs::read_to_string(copied).unwrap(),
            "run\nrun\n",
            "it began again from nothing"
        );
        assert!(!world.real(MARKER).exists());
    }
}

#[tokio::test]
async fn concurrent_installations_of_a_key_run_once() {
    let world = World::new(false);
    let provisioned = world.provision().await;
    let log = world.dir.path().join("log");
    let command = format!("echo run >> {}; mkdir -p node_modules/x", log.display());
    let plan = || {
        step(
            &LockfileKey::of_listing("other"),
            &provisioned.sha,
            &command,
        )
    };
    let [first, second] = [plan(), plan()].map(|plan| world.run(plan, StepInput::None));
    let (first, second) = tokio::join!(first, second);
    let from =
        [Materialised::Install, Materialised::Store].map(|from| Ok(Answer::Materialised { from }));
    assert_eq!([first, second], from);
    assert_eq!(fs::read_to_string(log).unwrap(), "run\n");
}

#[tokio::test]
async fn only_a_commit_without_lockfiles_has_an_empty_entry() {
    let world = World::new(false);
    let provisioned = world.provision().await;
    let key = LockfileKey::of_listing("other");
    // An installation begins with the checkout's dependencies.
    let nothing = "rm -rf node_modules packages/a/node_modules";
    let missing = world
        .run(step(&key, &provisioned.sha, nothing), StepInput::None)
        .await
        .unwrap_err();
    assert!(missing.stderr.contains("no node_modules"), "{missing:?}");
    let work = world.dir.path().join("work");
    git(&work, &["rm", "-q", "package-lock.json"]);
    git(&work, &["commit", "-q", "-m", "bare"]);
    git(&work, &["push", "-q", "../origin.git", "main"]);
    world
        .cycle(Step::Fetch, &CycleContext::default())
        .await
        .unwrap();
    let sha = Sha::parse(git(&work, &["rev-parse", "HEAD"]).trim()).unwrap();
    let empty = LockfileKey::of_listing("");
    let installed = world
        .run(step(&empty, &sha, nothing), StepInput::None)
        .await;
    assert_eq!(
        installed,
        Ok(Answer::Materialised {
            from: Materialised::Install
        })
    );
    let context = CycleContext {
        key: Some(&empty),
        ..CycleContext::default()
    };
    assert!(matches!(
        world.cycle(Step::LinkDeps, &context).await,
        Ok(Answer::Linked { .. })
    ));
}

fn backup() -> BackupId {
    BackupId::parse("deps").unwrap()
}

/// Archives an entry and returns the archive's digest.
async fn archive_entry(world: &World, key: &LockfileKey) -> String {
    let input = StepInput::Upload {
        backup: backup(),
        to: Transfer::Engine,
    };
    match world.run(archive_deps(key), input).await {
        Ok(Answer::Archived { sha256, .. }) => sha256,
        other => panic!("{other:?}"),
    }
}

async fn adopt(world: &World, key: &LockfileKey, sha256: &str) -> Result<Answer, StepFailure> {
    let input = StepInput::Download {
        from: Transfer::Engine,
        sha256: Some(sha256.to_owned()),
    };
    world.run(adopt_deps(key, Some(backup())), input).await
}

/// Another container links the restored entry into its checkout without an installation.
#[tokio::test]
async fn archived_entry_is_restored_and_linked() {
    for old in World::all() {
        let provisioned = old.provision().await;
        let sha256 = archive_entry(&old, &provisioned.key).await;
        let new = World::new(old.has_users);
        for name in ["snapshot-1", "deps"] {
            fs::copy(archive(&old, name), archive(&new, name)).unwrap();
        }
        extract(&new, "snapshot-1", CHECKOUT, None).await.unwrap();
        let from = |from| Ok(Answer::Materialised { from });
        let asked = || new.run(adopt_deps(&provisioned.key, None), StepInput::None);
        assert_eq!(asked().await, from(Materialised::Missing));
        assert_eq!(
            adopt(&new, &provisioned.key, &sha256).await,
            from(Materialised::Archive)
        );
        assert_eq!(asked().await, from(Materialised::Store));
        let context = CycleContext {
            key: Some(&provisioned.key),
            ..CycleContext::default()
        };
        let deps = if old.has_users {
            Deps::Hardlink
        } else {
            Deps::Copy
        };
        assert_eq!(
            new.cycle(Step::LinkDeps, &context).await,
            Ok(Answer::Linked { deps })
        );
        for (file, text) in [
            ("node_modules/left-pad/index.js", "pad\n"),
            ("packages/a/node_modules/b/index.js", "b\n"),
        ] {
            let linked = new.real(&format!("/workspace/checkout/{file}"));
            assert_eq!(fs::read_to_string(&linked).unwrap(), text);
            let meta = fs::metadata(&linked).unwrap();
            let is_shared = (meta.nlink(), meta.mode() & 0o222) == (2, 0);
            assert_eq!(is_shared, old.has_users, "{file}: {meta:?}");
            // Files in both stores have the same owner.
            let entry = |world: &World| {
                let path = world.real(&format!("/workspace/deps/{}/{file}", provisioned.key));
                let meta = fs::metadata(path).unwrap();
                (meta.uid(), meta.mode())
            };
            assert_eq!(entry(&new), entry(&old), "{file}");
        }
        // An archive that arrives for an existing entry changes nothing, and leaves no file.
        fs::copy(archive(&old, "deps"), archive(&new, "deps")).unwrap();
        assert_eq!(
            adopt(&new, &provisioned.key, &sha256).await,
            from(Materialised::Store)
        );
        assert!(!archive(&new, "deps").exists());
    }
}

/// A cut archive, an archive with another digest, key or folder becomes no entry.
#[tokio::test]
async fn unverified_archive_is_no_entry() {
    let world = World::new(false);
    let provisioned = world.provision().await;
    let sha256 = archive_entry(&world, &provisioned.key).await;
    let whole = fs::read(archive(&world, "deps")).unwrap();
    let mirror = fs::read(archive(&world, "snapshot-0")).unwrap();
    let other = LockfileKey::of_listing("other");
    let digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let half = &whole[..whole.len() / 2];
    for (content, sha256) in [
        (&whole[..], sha256),
        (&whole[..], "00".to_owned()),
        (half, digest(half)),
        (&mirror[..], digest(&mirror)),
    ] {
        fs::write(archive(&world, "deps"), content).unwrap();
        let failure = adopt(&world, &other, &sha256).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Corrupt, "{failure:?}");
        let names = fs::read_dir(world.real("/workspace/deps")).unwrap();
        let names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, [provisioned.key.as_str()], "something stays");
    }
    let input = StepInput::Upload {
        backup: backup(),
        to: Transfer::Engine,
    };
    let missing = world.run(archive_deps(&other), input).await.unwrap_err();
    assert_eq!(missing.kind, FailureKind::NotFound);
}

/// The checkout's and the trees' entries stay, and so does what was used within a day.
#[tokio::test]
async fn unused_entries_and_checkouts_are_swept() {
    for world in World::all() {
        world.provision().await;
        let old = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
        let age = |path: &Path| fs::File::open(path).unwrap().set_modified(old).unwrap();
        let make = |name: &str, is_old: bool| {
            let folder = world.real(&format!("/workspace/deps/{name}"));
            fs::create_dir_all(folder.join("node_modules")).unwrap();
            for marker in [".complete", ".used"] {
                fs::write(folder.join(marker), "").unwrap();
            }
            if is_old {
                age(&folder.join(".used"));
                age(&folder);
            }
            folder
        };
        let [kept, unused, recent, left] =
            ["kept", "unused", "recent", "left"].map(LockfileKey::of_listing);
        let stay = [
            make(kept.as_str(), true),
            make(recent.as_str(), false),
            make(&format!(".scratch-{recent}"), false),
        ];
        let go = [
            make(unused.as_str(), true),
            make(&format!(".scratch-{left}"), true),
        ];
        world
            .run(sweep_deps(vec![kept]), StepInput::None)
            .await
            .unwrap();
        assert!(stay.iter().all(|path| path.exists()), "{stay:?}");
        assert!(!go.iter().any(|path| path.exists()), "{go:?}");
    }
}

/// A process that a build left behind would change the checkout while it is cleaned.
#[tokio::test]
async fn no_process_of_a_build_is_left_in_the_checkout() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let mark = format!("90{}.25", u8::from(world.has_users));
        let text = format!(
            "setsid sh -c 'echo > dist; exec sleep {mark}' & until test -e dist; do sleep 0.01; done"
        );
        let build = TableCommand::parse(text).unwrap();
        let main = main_ref();
        let context = CycleContext {
            git_ref: Some(&main),
            sha: Some(&provisioned.sha),
            build: Some(&build),
            ..CycleContext::default()
        };
        let checkout = world.real("/workspace/checkout");
        fs::remove_dir_all(checkout.join("dist")).unwrap();
        world.cycle(Step::Build, &context).await.unwrap();
        assert!(
            !is_running(&format!("sleep\0{mark}")),
            "it outlives the step"
        );
        // A process from an earlier daemon version.
        let owner = fs::metadata(&checkout).unwrap().uid();
        let mut earlier = Command::new("sleep")
            .arg(&mark)
            .current_dir(&checkout)
            .uid(owner)
            .spawn()
            .unwrap();
        world.cycle(Step::CheckoutUpdate, &context).await.unwrap();
        assert_eq!(earlier.wait().unwrap().signal(), Some(9));
    }
}
