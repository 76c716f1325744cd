//! What no plan contains, and the order that plans keep.

use ars_types::StrictRefName;
use proptest::prelude::*;

use super::{
    AttachContext, CycleContext, Operation, PlanStep, PublishContext, User, attach, check_out,
    contains, cycle_step, evict, exec, exec_timeout_ms, find_checkpoint, kill, note_pushed, op,
    push, read, receive, restore, write,
};
use crate::layout::{CHECKOUT, MIRROR, THREADS};
use crate::lifecycle::Step;
use crate::names::{
    ExecCommand, LockfileKey, RunBranch, Sha, StrictThreadKey, TableCommand, TreePath,
};
use crate::pool::PoolUser;
use crate::thread::TreeDecision;
use crate::wire::CheckOutFrom;

fn user() -> PoolUser {
    PoolUser::parse("worker2").unwrap()
}

fn names(steps: &[PlanStep]) -> Vec<&str> {
    steps.iter().map(|step| step.name.as_str()).collect()
}

/// Root's git runs in the mirror only. If others can change a tree, the settings could run
/// programs.
fn assert_git_is_safe(steps: &[PlanStep]) {
    for step in steps {
        if let Operation::Git { args, cwd, .. } = &step.operation {
            let is_root = step.user == User::ROOT;
            assert!(!is_root || cwd == MIRROR || cwd == "/", "{step:?}");
            assert!(
                is_root
                    || cwd.starts_with(THREADS)
                    || cwd.starts_with("/workspace/ops/")
                    || cwd == CHECKOUT
            );
            assert!(args.iter().all(|arg| !arg.contains('\n')), "{step:?}");
        }
    }
}

proptest! {
    #[test]
    fn attach_keeps_work_and_permissions(
        key in "[a-z]{1,5}:[A-Za-z0-9._:-]{1,40}", git_ref in "[A-Za-z0-9][A-Za-z0-9._/-]{0,30}", flags in any::<[bool; 6]>(),
    ) {
        let [needs_fetch, has_token, readonly, has_deps, needs_checkpoint, takes_spare] = flags;
        let Ok(git_ref) = StrictRefName::parse(git_ref) else { return Ok(()) };
        let thread = StrictThreadKey::parse(key).unwrap();
        let deps = LockfileKey::of_listing("");
        for tree in [TreeDecision::Create, TreeDecision::Reuse, TreeDecision::Replace { needs_checkpoint }] {
            let steps = attach(&AttachContext {
                thread: &thread, git_ref: &git_ref, user: user(), tree, takes_spare, needs_fetch, has_token, readonly,
                deps: has_deps.then_some(&deps), origin: "https://host/acme/app.git",
            });
            assert_git_is_safe(&steps);
            let names = names(&steps);
            let removes = names.iter().position(|name| *name == "worktree-clean");
            prop_assert_eq!(removes.is_some(), tree != TreeDecision::Reuse);
            let saves = names.iter().position(|name| *name == "worktree-checkpoint");
            let must_save = tree == TreeDecision::Replace { needs_checkpoint: true };
            prop_assert_eq!(saves.is_some(), must_save);
            prop_assert!(saves.is_none() || saves < removes);
            prop_assert_eq!(names.contains(&"credential-write"), has_token && !readonly);
            let text = serde_json::to_string(&steps).unwrap();
            prop_assert!(!readonly || tree == TreeDecision::Reuse || !text.contains("https://host"));
        }
    }

    /// A caller's text reaches only a single shell, as the thread's user; it is no argument to
    /// another program.
    #[test]
    fn command_stays_in_its_shell(text in "\\PC{1,30}") {
        let thread = StrictThreadKey::parse("load:1").unwrap();
        let main = StrictRefName::parse("main").unwrap();
        let command = ExecCommand::parse(text.clone()).unwrap();
        let step = exec(&thread, &main, user(), command, 1_000);
        prop_assert_eq!(step.user, User::pool(user()));
        let is_whole =
            matches!(step.operation, Operation::ExecCommand { command, .. } if command.as_str() == text);
        prop_assert!(is_whole);
    }
}

#[test]
fn op_runs_the_table_as_a_pool_user() {
    let sha = Sha::parse("a".repeat(40)).unwrap();
    let command = TableCommand::parse("npm test; echo $HOME").unwrap();
    let steps = op(7, &sha, user(), &command, None);
    assert_git_is_safe(&steps);
    assert_eq!(
        names(&steps),
        [
            "op-dir",
            "op-clone",
            "op-chown",
            "op-checkout",
            "op-run",
            "op-remove"
        ]
    );
    assert_eq!(
        (steps[4].user, steps[4].timeout_ms),
        (User::pool(user()), 300_000)
    );
}

#[test]
fn eviction_kills_and_saves_before_it_removes() {
    let thread = StrictThreadKey::parse("load:1").unwrap();
    let main = StrictRefName::parse("main").unwrap();
    assert_eq!(
        names(&evict(&thread, &main, user(), true)),
        [
            "kill",
            "worktree-checkpoint",
            "worktree-remove",
            "home-clean"
        ]
    );
    assert_eq!(
        names(&evict(&thread, &main, user(), false)),
        ["kill", "worktree-remove", "home-clean"]
    );
    assert_eq!(
        kill(user()).user,
        User::pool(user()),
        "a kill reaches the processes of its own user only"
    );
}

#[test]
fn cycle_steps_touch_no_tree_of_a_thread() {
    let (main, sha) = (
        StrictRefName::parse("main").unwrap(),
        Sha::parse("b".repeat(40)).unwrap(),
    );
    let (key, command) = (
        LockfileKey::of_listing("x"),
        TableCommand::parse("make").unwrap(),
    );
    let context = CycleContext {
        origin: "https://host/acme/app.git",
        git_ref: Some(&main),
        sha: Some(&sha),
        key: Some(&key),
        install: Some(&command),
        build: Some(&command),
        ..CycleContext::default()
    };
    for step in [
        Step::CleanWorkspace,
        Step::CleanBeforeRestore,
        Step::Clone,
        Step::AdoptCheckpoints,
        Step::Fetch,
        Step::RevParse,
        Step::CheckoutClone,
        Step::CheckoutUpdate,
        Step::LinkDeps,
        Step::Build,
        Step::Snapshot,
    ] {
        let steps = cycle_step(step, &context, 1_000).unwrap();
        assert_git_is_safe(&steps);
        assert!(
            !steps.is_empty() && !serde_json::to_string(&steps).unwrap().contains(THREADS),
            "{step:?}"
        );
    }
    let build = &cycle_step(Step::Build, &context, 1_000).unwrap()[0];
    assert_eq!(build.user, User::BUILD);
    assert_eq!(
        cycle_step(Step::RevParse, &CycleContext::default(), 1_000),
        None,
        "a value is missing"
    );
    let update = cycle_step(Step::CheckoutUpdate, &context, 1_000).unwrap();
    assert_eq!(update[0].name, "leftover-kill");
    let cleans = |step: &PlanStep| matches!(&step.operation, Operation::Git { args, .. } if args[..] == ["clean", "-fdx"]);
    assert!(
        update.iter().any(cleans),
        "rewritten files would change every tree that links them"
    );
}

/// The key follows from the commit, never from the working directory.
#[test]
fn lockfile_key_is_read_from_the_commit() {
    let sha = Sha::parse("c".repeat(40)).unwrap();
    let context = CycleContext {
        sha: Some(&sha),
        ..CycleContext::default()
    };
    let steps = cycle_step(Step::LockfileKey, &context, 1_000).unwrap();
    assert_eq!(steps[0].operation, Operation::LockfileListing { sha });
}

#[test]
fn timeout_is_clamped() {
    for (requested, expected) in [
        (None, 300_000),
        (Some(f64::NAN), 300_000),
        (Some(f64::INFINITY), 300_000),
        (Some(0.0), 1_000),
        (Some(2_500.9), 2_500),
        (Some(9e9), 1_200_000),
    ] {
        assert_eq!(exec_timeout_ms(requested), expected);
    }
}

#[test]
fn files_outside_the_tree_are_rejected() {
    let thread = StrictThreadKey::parse("load:1").unwrap();
    let main = StrictRefName::parse("main").unwrap();
    let outside = TreePath::parse("/etc/passwd").unwrap();
    assert_eq!(
        read(&thread, &main, user(), &outside).unwrap_err().status(),
        400
    );
    assert!(
        write(&thread, &main, user(), &outside)
            .unwrap_err()
            .error()
            .starts_with("path-escape: ")
    );
    assert!(
        read(
            &thread,
            &main,
            user(),
            &TreePath::parse("src/a.rs").unwrap()
        )
        .is_ok()
    );
}

/// A push is never forced, and the credential reaches only root's git.
#[test]
fn push_has_no_force_and_no_git_of_the_tree() {
    let (thread, main) = (
        StrictThreadKey::parse("load:1").unwrap(),
        StrictRefName::parse("main").unwrap(),
    );
    let (sha, branch) = (
        Sha::parse("a".repeat(40)).unwrap(),
        RunBranch::parse("ars/run-1/x").unwrap(),
    );
    let context = PublishContext {
        thread: &thread,
        git_ref: &main,
        user: user(),
        sha: &sha,
    };
    let pushed = push("https://host/acme/app.git", &sha, &branch, true);
    let from = CheckOutFrom::Branch(branch.clone());
    let mut steps = vec![receive(context), pushed, contains(&sha, &from)];
    steps.extend(
        note_pushed(context, &branch)
            .into_iter()
            .chain(check_out(context, &from)),
    );
    steps.push(find_checkpoint(&sha));
    steps.extend(restore(context, true));
    assert_git_is_safe(&steps);
    for step in &steps {
        let Operation::Git {
            args,
            has_credential,
            ..
        } = &step.operation
        else {
            continue;
        };
        assert_eq!(*has_credential, step.name == "push", "{step:?}");
        assert!(
            args.iter()
                .all(|arg| !arg.starts_with('+') && !arg.contains("force")),
            "{step:?}"
        );
        assert!(!has_credential || step.user == User::ROOT, "{step:?}");
    }
}
