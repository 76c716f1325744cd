//! Paths, links and repositories that try to leave their tree.

use std::{fs, os::unix::fs::symlink};

use ars_resident::daemon::{FailureKind, SecretText, StepInput};
use ars_resident::layout::{MIRROR, tree};
use ars_resident::names::TreePath;
use ars_resident::plan::{Operation, PlanStep, User, read, write};
use ars_resident::thread::TreeDecision;

use super::world::{World, main_ref, pool, thread};

fn root(operation: Operation) -> PlanStep {
    PlanStep {
        name: "hostile".into(),
        user: User::ROOT,
        operation,
        timeout_ms: 10_000,
        needs_lock: false,
    }
}

#[tokio::test]
async fn steps_outside_of_the_workspace_are_refused() {
    for world in World::all() {
        let args = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
        let victim = world.dir.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let outside = victim.display().to_string();
        let git = |cwd: &str, words: &[&str]| Operation::Git {
            args: args(words),
            cwd: cwd.into(),
            has_credential: false,
        };
        for operation in [
            Operation::RemoveTree {
                path: outside.clone(),
            },
            Operation::DiscardTree {
                path: outside.clone(),
            },
            Operation::DiscardTree {
                path: "/workspace".into(),
            },
            Operation::RemoveTree {
                path: "/workspace".into(),
            },
            Operation::RemoveTree {
                path: "/workspace/../victim".into(),
            },
            Operation::MakeDir {
                path: "/workspace/a/../../x".into(),
                mode: 0o777,
                owner: User::ROOT,
            },
            Operation::ChangeOwner {
                path: outside.clone(),
                owner: User::BUILD,
            },
            Operation::Archive {
                path: "/workspace/threads".into(),
                without: None,
            },
            git("/workspace/threads/x/main", &["status"]),
            git("/", &["clone", "--", "/workspace/mirror", &outside]),
            git(
                "/",
                &["clone", "--", "/workspace/mirror", "/workspace/../victim"],
            ),
        ] {
            let failure = world
                .run(root(operation.clone()), StepInput::None)
                .await
                .unwrap_err();
            assert_eq!(
                failure.kind,
                FailureKind::Invalid,
                "{operation:?}: {failure:?}"
            );
        }
        assert!(victim.is_dir());
    }
}

#[tokio::test]
async fn links_of_a_tree_lead_nowhere() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let secret = world.dir.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("file"), "secret").unwrap();
        let real = world.tree(&key);
        symlink(&secret, real.join("out")).unwrap();
        symlink("src", real.join("in")).unwrap();
        let path = |text| TreePath::parse(text).unwrap();
        let content = |text: &str| StepInput::Content {
            text: SecretText::new(text),
        };
        let plan = read(&key, &main_ref(), user, &path("out/file")).unwrap();
        assert!(world.run(plan, StepInput::None).await.is_err());
        let plan = write(&key, &main_ref(), user, &path("out/file")).unwrap();
        assert!(world.run(plan, content("x")).await.is_err());
        assert_eq!(fs::read_to_string(secret.join("file")).unwrap(), "secret");
        let plan = write(&key, &main_ref(), user, &path("in/deep/er.txt")).unwrap();
        world.run(plan, content("inside")).await.unwrap();
        assert_eq!(
            fs::read_to_string(real.join("src/deep/er.txt")).unwrap(),
            "inside"
        );
        let own = world
            .exec(
                &key,
                user,
                "echo more >> src/deep/er.txt && cat in/deep/er.txt",
                10_000,
            )
            .await;
        assert_eq!(own.stdout, "insidemore\n", "{own:?}");
        // The tree itself becomes a link.
        fs::rename(&real, real.with_extension("moved")).unwrap();
        symlink(&secret, &real).unwrap();
        for operation in [
            Operation::LinkDeps {
                key: provisioned.key.clone(),
                tree: tree(&key, &main_ref()),
                owner: User::pool(user),
            },
            Operation::CopyBuilds {
                tree: tree(&key, &main_ref()),
                owner: User::pool(user),
            },
            Operation::ChangeOwner {
                path: tree(&key, &main_ref()),
                owner: User::pool(user),
            },
        ] {
            assert!(world.run(root(operation), StepInput::None).await.is_err());
        }
        let remove = Operation::DiscardTree {
            path: tree(&key, &main_ref()),
        };
        for operation in [remove, Operation::EmptyTrash] {
            world.run(root(operation), StepInput::None).await.unwrap();
        }
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    }
}

/// Root's git never reads settings in a tree that others can change.
#[tokio::test]
async fn git_of_root_stays_in_the_mirror() {
    for world in World::all() {
        world.provision().await;
        let git = |cwd: &str| Operation::Git {
            args: vec!["rev-parse".into(), "HEAD".into()],
            cwd: cwd.into(),
            has_credential: false,
        };
        assert!(world.run(root(git(MIRROR)), StepInput::None).await.is_ok());
        let failure = world
            .run(root(git("/workspace/checkout")), StepInput::None)
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Invalid);
        let ext = Operation::Git {
            args: ["clone", "--", "ext::sh -c true", "/workspace/x"]
                .map(str::to_owned)
                .to_vec(),
            cwd: "/".into(),
            has_credential: false,
        };
        let failure = world.run(root(ext), StepInput::None).await.unwrap_err();
        assert!(failure.stderr.contains("not allowed"), "{failure:?}");
    }
}
