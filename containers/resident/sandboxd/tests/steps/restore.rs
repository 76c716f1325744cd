//! Restores from archives.

use std::fs;

use ars_resident::daemon::{
    Answer, FailureKind, Job, StepFailure, StepInput, StepRequest, Transfer,
};
use ars_resident::layout::{CHECKOUT, MIRROR};
use ars_resident::lifecycle::Step;
use ars_resident::names::{BackupId, LockfileKey};
use ars_resident::plan::{CycleContext, Operation, PlanStep, User};
use ars_resident::thread::TreeDecision;
use ars_sandboxd::Progress;
use tokio_util::sync::CancellationToken;

use super::world::{World, main_ref, output, pool, thread};

const ARCHIVES: [(&str, &str); 2] = [("snapshot-0", MIRROR), ("snapshot-1", CHECKOUT)];

/// Returns an archive's path while it is transferred.
pub fn archive(world: &World, name: &str) -> std::path::PathBuf {
    world.real(&format!("/workspace/.resident/transfers/{name}.tar.zst"))
}

/// Extracts an archive that is being transferred.
pub async fn extract(
    world: &World,
    name: &str,
    path: &str,
    sha256: Option<&str>,
) -> Result<Answer, StepFailure> {
    let backup = BackupId::parse(name).unwrap();
    let operation = Operation::Extract {
        backup,
        path: path.into(),
    };
    let step = PlanStep {
        name: name.into(),
        user: User::ROOT,
        operation,
        timeout_ms: 60_000,
        needs_lock: true,
    };
    let input = StepInput::Download {
        from: Transfer::Engine,
        sha256: sha256.map(str::to_owned),
    };
    world.run_as(Job::Cycle { attempt: 1 }, step, input).await
}

#[tokio::test]
async fn restored_workspace_equals_the_archived_one() {
    for old in World::all() {
        let provisioned = old.provision().await;
        let new = World::new(old.has_users);
        for (name, path) in ARCHIVES {
            fs::copy(archive(&old, name), archive(&new, name)).unwrap();
            extract(&new, name, path, None).await.unwrap();
        }
        let main = main_ref();
        let context = CycleContext {
            git_ref: Some(&main),
            sha: Some(&provisioned.sha),
            ..CycleContext::default()
        };
        let mut commit = None;
        let mut listing = None;
        for (step, target) in [(Step::Verify, 0), (Step::LockfileKey, 1)] {
            for plan in ars_resident::plan::cycle_step(step, &context, 10_000).unwrap() {
                let answer = new
                    .run_as(Job::Cycle { attempt: 2 }, plan, StepInput::None)
                    .await;
                match target {
                    0 => commit = Some(output(answer).stdout),
                    _ => listing = answer.ok(),
                }
            }
        }
        assert_eq!(commit.unwrap().trim(), provisioned.sha.as_str());
        let Some(Answer::Listing { text }) = listing else {
            panic!("{listing:?}")
        };
        assert_eq!(LockfileKey::of_listing(&text), provisioned.key);
        assert!(!new.real("/workspace/checkout/node_modules").exists());
        assert!(new.real("/workspace/checkout/dist/out.js").exists());
        // The store is empty: the dependencies are installed again.
        new.attach(
            &provisioned,
            &thread("load:1"),
            pool(0),
            TreeDecision::Create,
        )
        .await;
        let end = new
            .exec(
                &thread("load:1"),
                pool(0),
                "cat node_modules/left-pad/index.js dist/out.js",
                10_000,
            )
            .await;
        assert_eq!(end.stdout, "pad\npad\n", "{end:?}");
    }
}

/// A stall is judged by these bytes, so both the archive and the content count.
#[tokio::test]
async fn progress_counts_archive_and_content() {
    let world = World::new(false);
    world.provision().await;
    let packed = fs::metadata(archive(&world, "snapshot-0")).unwrap().len();
    let backup = BackupId::parse("snapshot-0").unwrap();
    let operation = Operation::Extract {
        backup,
        path: MIRROR.into(),
    };
    let step = PlanStep {
        name: "extract".into(),
        user: User::ROOT,
        operation,
        timeout_ms: 60_000,
        needs_lock: true,
    };
    let input = StepInput::Download {
        from: Transfer::Engine,
        sha256: None,
    };
    let request = StepRequest {
        job: Job::Cycle { attempt: 2 },
        step,
        input,
        lock_wait_ms: None,
    };
    let progress = Progress::default();
    world
        .daemon
        .perform(&request, &progress, &CancellationToken::new())
        .await
        .result
        .unwrap();
    assert!(
        progress.bytes() > 2 * packed,
        "{} of {packed}",
        progress.bytes()
    );
    // Nothing is mounted, so nothing can stay mounted.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(
        !mounts.contains(&world.dir.path().display().to_string()),
        "{mounts}"
    );
}

/// A damaged archive changes neither the folder nor leaves anything beside it.
#[tokio::test]
async fn damaged_archive_leaves_the_folder() {
    let world = World::new(false);
    world.provision().await;
    let head = fs::read(world.real("/workspace/mirror/HEAD")).unwrap();
    let whole = fs::read(archive(&world, "snapshot-0")).unwrap();
    for (content, sha256) in [(&whole[..whole.len() / 2], None), (&whole[..], Some("00"))] {
        fs::write(archive(&world, "bad"), content).unwrap();
        let failure = extract(&world, "bad", MIRROR, sha256).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Corrupt);
        assert_eq!(
            fs::read(world.real("/workspace/mirror/HEAD")).unwrap(),
            head
        );
        assert!(
            !world.real("/workspace/mirror.extract").exists() && !archive(&world, "bad").exists()
        );
    }
    let missing = extract(&world, "none", MIRROR, None).await.unwrap_err();
    assert_eq!(missing.kind, FailureKind::NotFound);
}
