//! Checkpoints.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ars_resident::daemon::{Answer, SavedCheckpoint, StepInput};
use ars_resident::lifecycle::Step;
use ars_resident::plan::{CycleContext, check, checkpoint, evict};
use ars_resident::thread::TreeDecision;
use ars_types::RunId;

use super::world::{Provisioned, World, git, main_ref, pool, thread};

async fn save(world: &World) -> Option<SavedCheckpoint> {
    let step = checkpoint(&thread("load:1"), &main_ref(), pool(0));
    let run = Some(RunId::parse("run-1").unwrap());
    match world.run(step, StepInput::Checkpoint { run }).await {
        Ok(Answer::Saved { checkpoint }) => checkpoint,
        other => panic!("{other:?}"),
    }
}

/// Attaches a thread and makes checkpoints with a changed file.
async fn attached(world: &World, checkpoints: usize) -> (Provisioned, Vec<SavedCheckpoint>) {
    let provisioned = world.provision().await;
    let (key, user) = (thread("load:1"), pool(0));
    world
        .attach(&provisioned, &key, user, TreeDecision::Create)
        .await;
    let mut saved = Vec::new();
    for number in 1..=checkpoints {
        world
            .exec(&key, user, &format!("echo {number} > new.txt"), 10_000)
            .await;
        saved.push(save(world).await.unwrap());
    }
    (provisioned, saved)
}

#[tokio::test]
async fn checkpoint_has_untracked_files_and_no_secrets() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        assert_eq!(save(&world).await, None, "a clean tree has no work");
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let work = format!(
            "echo new > new.txt; echo {token} > token.txt; echo x >> README.md; git add README.md; echo y >> README.md"
        );
        assert_eq!(world.exec(&key, user, &work, 10_000).await.exit_code, 0);
        let status = world
            .exec(&key, user, "git status --porcelain", 10_000)
            .await
            .stdout;
        // After the status, which refreshes the times in the index.
        let index = fs::read(world.tree(&key).join(".git/index")).unwrap();
        let first = save(&world).await.unwrap();
        assert!(
            fs::read(world.tree(&key).join(".git/index")).unwrap() == index,
            "the index changed"
        );
        assert_eq!(
            world
                .exec(&key, user, "git status --porcelain", 10_000)
                .await
                .stdout,
            status
        );
        assert_eq!(
            (first.git_ref.as_str(), first.is_new),
            ("refs/ars/run-1/1", true)
        );
        assert_eq!(first.withheld, ["token.txt"]);
        let mirror = world.real("/workspace/mirror");
        let show = |path: &str| git(&mirror, &["show", &format!("{}:{path}", first.git_ref)]);
        assert_eq!(
            (show("new.txt"), show("README.md")),
            ("new\n".into(), "# app\nx\ny\n".into())
        );
        assert!(!show("token.txt").contains(&token));
        let files = git(&mirror, &["ls-tree", "-r", "--name-only", &first.git_ref]);
        assert!(
            !files.contains("node_modules") && !files.contains("dist"),
            "{files}"
        );
        let parent = git(&mirror, &["rev-parse", &format!("{}^", first.git_ref)]);
        assert_eq!(parent.trim(), provisioned.sha.as_str());
    }
}

#[tokio::test]
async fn repeated_checkpoint_is_the_same_and_survives_a_fetch() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        world.exec(&key, user, "echo 1 > new.txt", 10_000).await;
        let first = save(&world).await.unwrap();
        let again = save(&world).await.unwrap();
        assert_eq!(
            again,
            SavedCheckpoint {
                is_new: false,
                ..first.clone()
            }
        );
        world
            .exec(
                &key,
                user,
                "git add -A && git -c user.name=a -c user.email=a@b commit -qm x",
                10_000,
            )
            .await;
        let committed = save(&world).await.unwrap();
        assert_eq!(
            committed.git_ref, "refs/ars/run-1/2",
            "unpushed commits are work"
        );
        git(
            &world.dir.path().join("work"),
            &["push", "-q", "../origin.git", "main:other"],
        );
        world
            .cycle(Step::Fetch, &CycleContext::default())
            .await
            .unwrap();
        let refs = git(
            &world.real("/workspace/mirror"),
            &["for-each-ref", "--format=%(refname)"],
        );
        for name in ["refs/ars/run-1/1", "refs/ars/run-1/2", "refs/heads/other"] {
            assert!(refs.contains(name), "{refs}");
        }
    }
}

/// A rebuild makes another mirror, which an interrupted rebuild does not change.
#[tokio::test]
async fn next_mirror_has_the_checkpoints_that_can_be_read() {
    for world in World::all() {
        let (provisioned, saved) = attached(&world, 2).await;
        let (origin, mirror) = (world.origin(), world.real("/workspace/mirror"));
        let context = CycleContext {
            origin: &origin,
            ..CycleContext::default()
        };
        let cycle = async |steps: &[Step]| {
            for step in steps {
                world.cycle(*step, &context).await.unwrap();
            }
            git(
                &mirror,
                &[
                    "for-each-ref",
                    "--format=%(refname) %(objectname)",
                    "refs/ars",
                ],
            )
        };
        let named = |saved: &[SavedCheckpoint]| -> String {
            saved
                .iter()
                .map(|saved| format!("{} {}\n", saved.git_ref, saved.sha))
                .collect()
        };
        let begun = [Step::CleanWorkspace, Step::Clone];
        assert_eq!(cycle(&begun).await, "");
        // A forced detach saves a tree in an attempt's mirror that then broke off.
        git(
            &mirror,
            &["update-ref", &saved[0].git_ref, provisioned.sha.as_str()],
        );
        let all = [&begun[..], &[Step::AdoptCheckpoints]].concat();
        let both = named(&saved).replacen(
            '\n',
            &format!("\n{0}.{1} {1}\n", saved[0].git_ref, provisioned.sha),
            1,
        );
        assert_eq!(cycle(&all).await, both);
        git(&mirror, &["fsck", "--full", "--strict"]);
        // The first mirror's file is cut, which only the reader finds out. The mirror stays for a
        // person.
        let blob = git(
            &mirror,
            &["rev-parse", &format!("{}:new.txt", saved[0].sha)],
        );
        let (folder, name) = blob.trim().split_at(2);
        let file = mirror.join("objects").join(folder).join(name);
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, &content[..content.len() / 2]).unwrap();
        let readable = both.replacen(&named(&saved[..1]), "", 1);
        assert_eq!(cycle(&all).await, readable);
        let damaged = world.real("/workspace/.resident/earlier-mirrors/damaged");
        assert!(git(&damaged, &["for-each-ref"]).contains(&saved[0].git_ref));
        // A new mirror that cannot be read is no reason to give up the earlier mirror.
        cycle(&begun).await;
        fs::rename(mirror.join("objects"), mirror.join("lost")).unwrap();
        world
            .cycle(Step::AdoptCheckpoints, &context)
            .await
            .unwrap_err();
        assert_eq!(cycle(&all).await, readable);
        let left = fs::read_dir(world.real("/workspace/.resident/earlier-mirrors"))
            .unwrap()
            .count();
        assert_eq!(left, 1, "the damaged one");
    }
}

/// A power loss costs the newest checkpoints, and leaves a mirror that serves.
#[tokio::test]
async fn torn_checkpoints_are_forgotten() {
    for mut world in World::all() {
        let (_, saved) = attached(&world, 3).await;
        let mirror = world.real("/workspace/mirror");
        let blob = git(
            &mirror,
            &["rev-parse", &format!("{}:new.txt", saved[1].sha)],
        );
        let (folder, name) = blob.trim().split_at(2);
        for torn in [&*format!("objects/{folder}/{name}"), &*saved[2].git_ref] {
            let file = mirror.join(torn);
            fs::remove_file(&file).unwrap();
            fs::write(&file, "").unwrap();
        }
        world.restart();
        world
            .cycle(Step::Fetch, &CycleContext::default())
            .await
            .unwrap();
        let left = git(
            &mirror,
            &["for-each-ref", "--format=%(refname)", "refs/ars"],
        );
        assert_eq!(left.trim(), saved[0].git_ref);
        let next = save(&world).await.unwrap();
        assert_eq!(
            (next.git_ref, next.is_new),
            (saved[1].git_ref.clone(), true)
        );
        git(&mirror, &["fsck", "--full", "--strict"]);
    }
}

/// Returns the number of objects that quick checkpoints made beside those in the tree's repository.
fn quick_objects(world: &World) -> usize {
    let repository = world.tree(&thread("load:1")).join(".git");
    let entries = |folder: &Path| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let is_own = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("ars-objects-")
    };
    let folders = entries(&repository)
        .filter(is_own)
        .flat_map(|folder| entries(&folder));
    folders.flat_map(|folder| entries(&folder)).count()
}

/// A run's later checkpoint reads changed files only. An unusual tree is read as a whole again.
#[tokio::test]
async fn quick_checkpoint_follows_the_last_one() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let save_after = async |work: &str| {
            assert_eq!(
                world.exec(&key, user, work, 10_000).await.exit_code,
                0,
                "{work}"
            );
            save(&world).await.unwrap()
        };
        let mirror = world.real("/workspace/mirror");
        let show = |object: &str| git(&mirror, &["show", object]);
        let files =
            |at: &SavedCheckpoint| git(&mirror, &["ls-tree", "-r", "--name-only", &at.git_ref]);
        save_after("echo 1 > new.txt; echo x > gone.txt").await;
        assert_eq!(quick_objects(&world), 0);
        let work = "echo 2 > new.txt; mkdir d; echo y > d/y; rm gone.txt; echo z >> README.md; cp src/app.js d";
        let second = save_after(work).await;
        assert_eq!(
            (second.git_ref.as_str(), second.is_new),
            ("refs/ars/run-1/2", true)
        );
        assert_eq!(
            quick_objects(&world),
            6,
            "three files, two folders and a commit; the mirror has the copied file"
        );
        assert_eq!(
            (
                show("refs/ars/run-1/2:new.txt"),
                files(&second).contains("gone.txt")
            ),
            ("2\n".into(), false)
        );
        let parent = git(&mirror, &["rev-parse", "refs/ars/run-1/2^"]);
        assert_eq!(parent.trim(), provisioned.sha.as_str());
        assert_eq!(
            save_after("true").await,
            SavedCheckpoint {
                is_new: false,
                ..second
            }
        );
        let third = save_after("echo 3 > new.txt").await;
        assert_eq!(
            (third.git_ref.as_str(), quick_objects(&world)),
            ("refs/ars/run-1/3", 9)
        );
        // A file that was saved and is ignored now is left out, as in a first checkpoint.
        let ignored = save_after("echo y > d/.gitignore").await;
        assert!(!files(&ignored).contains("d/y"), "{}", files(&ignored));
        assert_eq!(quick_objects(&world), 0);
        let token = format!("ghp_{}", "a1B2".repeat(9));
        // The second time the tree's repository has the content, so that the quick way makes no
        // object for it.
        for _ in 0..2 {
            let secret = save_after(&format!("echo {token} > token.txt")).await;
            assert_eq!(secret.withheld, ["token.txt"]);
            let found = git(
                &mirror,
                &["cat-file", "--batch-all-objects", "--batch", "--unordered"],
            );
            assert!(!found.contains(&token));
            save_after("rm token.txt").await;
        }
        let commit =
            "git add -A && git -c user.name=a -c user.email=a@b commit -qm x && echo 4 > new.txt";
        let committed = save_after(commit).await;
        let parent = git(
            &mirror,
            &[
                "show",
                "--no-patch",
                "--format=%s",
                &format!("{}^", committed.git_ref),
            ],
        );
        assert_eq!(
            (
                parent.trim(),
                show(&format!("{}:new.txt", committed.git_ref)).trim()
            ),
            ("x", "4")
        );
        git(&mirror, &["fsck", "--connectivity-only"]);
    }
}

/// A tree that was spare takes the quick way for the first checkpoint. Not if the run has another
/// tree's checkpoints.
#[tokio::test]
async fn first_checkpoint_starts_from_the_attached_tree() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world.attach_spare(&provisioned, &key, user).await;
        let mirror = world.real("/workspace/mirror");
        for _ in 0..2 {
            assert_eq!(save(&world).await, None, "a clean tree has no work");
        }
        assert_eq!(
            world
                .exec(&key, user, "echo 1 > new.txt; rm README.md", 10_000)
                .await
                .exit_code,
            0
        );
        let first = save(&world).await.unwrap();
        assert_eq!(
            (first.git_ref.as_str(), first.is_new),
            ("refs/ars/run-1/1", true)
        );
        assert_eq!(quick_objects(&world), 3, "a file, a folder and a commit");
        let changed = git(
            &mirror,
            &["diff-tree", "-r", "--name-status", "HEAD", &first.git_ref],
        );
        assert_eq!(changed, "D\tREADME.md\nA\tnew.txt\n");
        let parent = git(&mirror, &["rev-parse", "refs/ars/run-1/1^"]);
        assert_eq!(parent.trim(), provisioned.sha.as_str());
        git(&mirror, &["fsck", "--connectivity-only"]);
        // The run's other tree follows its checkpoints, wherever git keeps their refs.
        git(&mirror, &["pack-refs", "--all"]);
        for step in evict(&key, &main_ref(), user, false) {
            world.run(step, StepInput::None).await.unwrap();
        }
        world.attach_spare(&provisioned, &key, user).await;
        assert_eq!(
            world
                .exec(&key, user, "echo 2 > new.txt", 10_000)
                .await
                .exit_code,
            0
        );
        assert_eq!(save(&world).await.unwrap().git_ref, "refs/ars/run-1/2");
        // So does a tree with a new commit.
        let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm x";
        assert_eq!(world.exec(&key, user, commit, 10_000).await.exit_code, 0);
        assert_eq!(save(&world).await.unwrap().git_ref, "refs/ars/run-1/3");
    }
}

#[tokio::test]
async fn checkpoint_has_other_branches_and_all_stashes() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let work = "git config user.name a && git config user.email a@b && git checkout -qb side \
            && echo s > side.txt && git add -A && git commit -qm s && git checkout -q main && git branch same \
            && echo 1 > README.md && git stash -q && echo 2 > README.md && git stash -q";
        let done = world.exec(&key, user, work, 10_000).await;
        assert_eq!(done.exit_code, 0, "{done:?}");
        let saved = save(&world).await.unwrap();
        let mirror = world.real("/workspace/mirror");
        let parents = git(
            &mirror,
            &["show", "--no-patch", "--format=%P", &saved.git_ref],
        );
        let parents: Vec<&str> = parents.split_whitespace().collect();
        assert_eq!(
            (parents.len(), parents[0]),
            (4, provisioned.sha.as_str()),
            "{parents:?}"
        );
        let is_in = |path: &str, text: &str| {
            let files = parents
                .iter()
                .filter(|at| git(&mirror, &["ls-tree", "-r", "--name-only", at]).contains(path));
            files
                .filter(|at| git(&mirror, &["show", &format!("{at}:{path}")]) == text)
                .count()
        };
        assert_eq!(
            (
                is_in("side.txt", "s\n"),
                is_in("README.md", "1\n"),
                is_in("README.md", "2\n")
            ),
            (1, 1, 1)
        );
        assert_eq!(
            save(&world).await.unwrap(),
            SavedCheckpoint {
                is_new: false,
                ..saved
            }
        );
        // The files would be lost with the tree.
        let work = "git init -q inner && cd inner && echo x > x && git add x && git -c user.name=a -c user.email=a@b commit -qm x";
        assert_eq!(world.exec(&key, user, work, 10_000).await.exit_code, 0);
        let failure = world
            .run(checkpoint(&key, &main_ref(), user), StepInput::None)
            .await
            .unwrap_err();
        assert!(
            failure.stderr.contains("inner is a repository"),
            "{failure:?}"
        );
    }
}

/// Git compares no file with these flags, so that their changes are in no status.
#[tokio::test]
async fn changes_that_the_index_hides_are_work() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let work = "touch c d far && git add . && git -c user.name=a -c user.email=a@b commit -qm files \
            && git update-ref refs/remotes/origin/main HEAD && git update-index --assume-unchanged README.md d \
            && git update-index --skip-worktree README.md c far && rm d far && echo 1 > README.md && echo 2 > c \
            && test -z \"$(git status --porcelain)\"";
        let done = world.exec(&key, user, work, 10_000).await;
        assert_eq!(done.exit_code, 0, "{done:?}");
        let found = world
            .run(check(&key, &main_ref(), user, None), StepInput::None)
            .await
            .unwrap();
        let Answer::Tree { check: Some(found) } = found else {
            panic!("{found:?}")
        };
        assert!(found.has_unsaved(), "{found:?}");
        let saved = save(&world).await.unwrap();
        let mirror = world.real("/workspace/mirror");
        let show = |path: &str| git(&mirror, &["show", &format!("{}:{path}", saved.git_ref)]);
        assert_eq!(
            (show("README.md"), show("c"), show("far")),
            ("1\n".into(), "2\n".into(), String::new())
        );
        let files = git(&mirror, &["ls-tree", "--name-only", &saved.git_ref]);
        assert!(
            !files.lines().any(|name| name == "d"),
            "it was deleted: {files}"
        );
    }
}

#[tokio::test]
async fn secrets_in_odd_files_are_withheld() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        let token = format!("ghp_{}", "a1B2".repeat(9));
        // A file that is no text, without any other change.
        let binary = format!("printf '\\377\\n{token}\\n' > binary");
        assert_eq!(world.exec(&key, user, &binary, 10_000).await.exit_code, 0);
        let saved = save(&world).await.unwrap();
        assert_eq!(saved.withheld, ["binary (left out)"]);
        let odd = format!(
            "rm binary; echo {token} > \"$(printf 'o\\377dd, \\n1')\"; head -c 2000000 /dev/zero > large; \
             printf '\\377{token}' >> README.md"
        );
        assert_eq!(world.exec(&key, user, &odd, 10_000).await.exit_code, 0);
        let saved = save(&world).await.unwrap();
        let names = [
            "README.md (left out)",
            "o\u{fffd}dd, \n1",
            "large (not searched)",
        ];
        assert_eq!(saved.withheld, names);
        let mirror = world.real("/workspace/mirror");
        let found = git(&mirror, &["log", "--all", "--format=", "--text", "-p"]);
        assert!(!found.contains(&token), "{found}");
        assert!(git(&mirror, &["ls-tree", "-r", "--name-only", &saved.git_ref]).contains("large"));
        assert_eq!(
            git(&mirror, &["show", &format!("{}:README.md", saved.git_ref)]),
            "# app\n"
        );
    }
}
