//! From the code host to a thread's tree, and back.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ars_resident::daemon::{Answer, FailureKind, Materialised, StepInput};
use ars_resident::layout::tree;
use ars_resident::lifecycle::TreesState;
use ars_resident::names::{StrictThreadKey, TableCommand};
use ars_resident::plan::{
    CycleContext, Operation, PlanStep, check, check_credential, evict, kill, op, remove_spare,
};
use ars_resident::pool::PoolUser;
use ars_resident::thread::{CredentialFile, Deps, TreeDecision};

use super::world::{Provisioned, TOKEN, World, git, main_ref, output, pool, thread};
use ars_resident::lifecycle::Step;

/// How often the trees are inspected while a tree moves.
const MOVED_LOOKS: usize = 20;

#[tokio::test]
async fn attached_tree_is_complete_and_clean() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        let answers = world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        assert_eq!(
            answers[0],
            Answer::Materialised {
                from: Materialised::Store
            }
        );
        assert_complete(&world, &provisioned, &key, user, &answers).await;
    }
}

/// An attach takes the spare tree, which was made before, and equals a tree that the attach makes.
#[tokio::test]
async fn spare_tree_is_complete_and_clean() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        let answers = world.attach_spare(&provisioned, &key, user).await;
        let repository = world.tree(&key);
        let second = |path: &str| fs::metadata(repository.join(path)).unwrap().mtime();
        assert!(
            second(".git/index") > second("README.md"),
            "git would read all files"
        );
        assert_eq!(
            git(&repository, &["diff-files", "--name-only"]),
            "",
            "the times in the index are old"
        );
        assert_complete(&world, &provisioned, &key, user, &answers).await;
        let end = world
            .exec(
                &key,
                user,
                "echo x >> README.md && touch new && ls -ld .",
                10_000,
            )
            .await;
        assert_eq!(end.exit_code, 0, "its user cannot change it: {end:?}");
        let step = PlanStep {
            operation: Operation::TakeSpare {
                tree: tree(&key, &main_ref()),
            },
            ..remove_spare()
        };
        let missing = world.run(step, StepInput::None).await.unwrap_err();
        assert_eq!(
            missing.kind,
            FailureKind::NotFound,
            "an attach without it makes its own tree"
        );
    }
}

async fn assert_complete(
    world: &World,
    provisioned: &Provisioned,
    key: &StrictThreadKey,
    user: PoolUser,
    answers: &[Answer],
) {
    let deps = if world.has_users {
        Deps::Hardlink
    } else {
        Deps::Copy
    };
    assert!(answers.contains(&Answer::Linked { deps }), "{answers:?}");
    let checked = check(key, &main_ref(), user, Some(&provisioned.sha));
    let Ok(Answer::Tree { check: Some(state) }) = world.run(checked, StepInput::None).await else {
        panic!()
    };
    assert!(
        state.is_readable && state.has_tip && !state.has_unsaved(),
        "{state:?}"
    );
    let text = "cat node_modules/left-pad/index.js packages/a/node_modules/b/index.js dist/out.js";
    let end = world.exec(key, user, text, 10_000).await;
    assert_eq!(
        (end.stdout.as_str(), end.exit_code),
        ("pad\nb\npad\n", 0),
        "{}",
        end.stderr
    );
    let check = check_credential(key, &main_ref(), user);
    let Ok(Answer::Credential { file }) = world.run(check, StepInput::None).await else {
        panic!()
    };
    assert!(matches!(file, CredentialFile::Present { .. }));
    let credential = world.tree(key).join(".git/github-credentials");
    assert_eq!(fs::metadata(&credential).unwrap().mode() & 0o777, 0o600);
    let helper = world
        .exec(
            key,
            user,
            "echo url=https://host.example | git credential fill",
            10_000,
        )
        .await;
    assert!(helper.stdout.contains(TOKEN), "{helper:?}");
}

/// A thread's user changes neither the store nor another tree, and sees no other user's home.
#[tokio::test]
async fn users_are_kept_apart() {
    for world in World::all().into_iter().filter(|world| world.has_users) {
        let provisioned = world.provision().await;
        for (number, name) in ["load:1", "load:2"].into_iter().enumerate() {
            world
                .attach(
                    &provisioned,
                    &thread(name),
                    pool(number),
                    TreeDecision::Create,
                )
                .await;
        }
        let (key, user) = (thread("load:1"), pool(0));
        let end = world
            .exec(&key, user, "id -u; id -G; echo $HOME $USER", 10_000)
            .await;
        assert!(
            end.stdout.starts_with("2002\n2002\n")
                && end.stdout.trim().ends_with("/worker2 worker2"),
            "{end:?}"
        );
        let linked = world.tree(&key).join("node_modules/left-pad/index.js");
        assert!(fs::metadata(&linked).unwrap().nlink() > 2);
        let other = world.tree(&thread("load:2")).join("README.md");
        for text in [
            "echo x > node_modules/left-pad/index.js".to_owned(),
            "chmod u+w node_modules/left-pad/index.js".to_owned(),
            format!("cat {}", other.display()),
            format!("ls {}", world.real("/workspace/mirror").display()),
            format!("ls {}", world.real("/workspace/.resident").display()),
        ] {
            assert_ne!(
                world.exec(&key, user, &text, 10_000).await.exit_code,
                0,
                "{text}"
            );
        }
        let caches =
            "echo x > node_modules/.cache/x && rm -r node_modules/left-pad && echo x > dist/out.js";
        assert_eq!(world.exec(&key, user, caches, 10_000).await.exit_code, 0);
        let entry = world.real(&format!(
            "/workspace/deps/{}/node_modules/left-pad/index.js",
            provisioned.key
        ));
        assert_eq!(fs::read_to_string(entry).unwrap(), "pad\n");
    }
}

/// A tree that is gone by now has no state, and a locked tree's state is unknown.
///
/// Neither fails the look at all trees: a refresh would end without a warm resident.
#[tokio::test]
async fn inspection_survives_removed_and_locked_trees() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let (tree, aside) = (world.tree(&key), world.real("/workspace/aside"));
        let (mover, is_over) = (tree.clone(), Arc::new(AtomicBool::new(false)));
        let is_over_there = is_over.clone();
        let mover = std::thread::spawn(move || {
            while !is_over_there.load(Ordering::Relaxed) {
                fs::rename(&mover, &aside).unwrap();
                fs::rename(&aside, &mover).unwrap();
            }
        });
        let mut inspected = Vec::new();
        for _ in 0..MOVED_LOOKS {
            inspected.push(world.cycle(Step::Inspect, &CycleContext::default()).await);
        }
        is_over.store(true, Ordering::Relaxed);
        mover.join().unwrap();
        assert!(inspected.iter().all(Result::is_ok), "{inspected:?}");
        fs::set_permissions(&tree, fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(
            trees_state(&world).await,
            if world.has_users {
                TreesState::Unknown
            } else {
                TreesState::Clean
            }
        );
    }
}

async fn trees_state(world: &World) -> TreesState {
    let inspect = world.cycle(Step::Inspect, &CycleContext::default()).await;
    let Ok(Answer::Inspected(state)) = inspect else {
        panic!("{inspect:?}")
    };
    state.trees
}

#[tokio::test]
async fn eviction_saves_work_first() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        world
            .exec(
                &key,
                user,
                "echo work > new.txt; echo x >> README.md",
                10_000,
            )
            .await;
        let inspect = world.cycle(Step::Inspect, &CycleContext::default()).await;
        let Ok(Answer::Inspected(state)) = inspect else {
            panic!("{inspect:?}")
        };
        assert_eq!(state.trees, TreesState::Dirty);
        assert_eq!(state.markers.ready.as_ref(), Some(&provisioned.sha));
        assert_eq!(state.markers.head, state.markers.ready);
        assert_eq!(state.markers.deps_key.as_ref(), Some(&provisioned.key));
        let mut saved = None;
        for step in evict(&key, &main_ref(), user, true) {
            if let Answer::Saved { checkpoint } = world.run(step, StepInput::None).await.unwrap() {
                saved = checkpoint;
            }
        }
        let saved = saved.unwrap();
        assert!(saved.git_ref.starts_with("refs/ars/load-1-"), "{saved:?}");
        assert!(!world.tree(&key).exists());
        let mirror = world.real("/workspace/mirror");
        assert_eq!(
            git(&mirror, &["show", &format!("{}:new.txt", saved.git_ref)]),
            "work\n"
        );
        let checked = check(&key, &main_ref(), user, None);
        assert_eq!(
            world.run(checked, StepInput::None).await,
            Ok(Answer::Tree { check: None })
        );
    }
}

#[tokio::test]
async fn op_runs_in_its_own_checkout() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let command = TableCommand::parse("cat node_modules/left-pad/index.js; exit 3").unwrap();
        let mut ran = None;
        for step in op(
            7,
            &provisioned.sha,
            pool(3),
            &command,
            Some(&provisioned.key),
        ) {
            let answer = world.run(step.clone(), StepInput::None).await;
            if step.name == "op-run" {
                ran = Some(output(answer));
            } else {
                answer.unwrap();
            }
        }
        let ran = ran.unwrap();
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (3, "pad\n"));
        assert!(!world.real("/workspace/ops/7").exists());
    }
}

/// Every attach step can run twice, as after a lost response.
#[tokio::test]
async fn repeated_attach_gives_the_same_tree() {
    // Other tests run at the same time and use other users.
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(12));
        for tree in [
            TreeDecision::Create,
            TreeDecision::Create,
            TreeDecision::Replace {
                needs_checkpoint: true,
            },
        ] {
            world.attach(&provisioned, &key, user, tree).await;
            assert_eq!(
                world
                    .exec(&key, user, "git status --porcelain", 10_000)
                    .await
                    .stdout,
                ""
            );
        }
        assert_eq!(
            world.run(kill(user), StepInput::None).await,
            Ok(Answer::Killed { processes: 0 })
        );
    }
}
