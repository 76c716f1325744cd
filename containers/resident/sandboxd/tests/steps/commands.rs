//! How commands end: limits, signals, cancellation.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    process,
    sync::Arc,
};

use ars_resident::daemon::{CancelRequest, FailureKind, Job, StepInput, StepRequest};
use ars_resident::layout::CHECKOUT;
use ars_resident::lifecycle::Step;
use ars_resident::names::TableCommand;
use ars_resident::plan::{CycleContext, Operation, PlanStep, Unprivileged, User, cycle_step, kill};
use ars_sandboxd::{Progress, has_landlock};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tokio_util::sync::CancellationToken;

use super::world::{TOKEN, World, is_running, open, pool, until};

fn build(command: &str) -> PlanStep {
    let command = TableCommand::parse(command).unwrap();
    let operation = Operation::TableCommand {
        user: Unprivileged::Build,
        command,
        cwd: CHECKOUT.into(),
    };
    PlanStep {
        name: "build".into(),
        user: User::BUILD,
        operation,
        timeout_ms: 60_000,
        needs_lock: true,
    }
}

#[tokio::test]
async fn command_ends_with_its_limits() {
    for world in World::all() {
        let user = pool(0);
        let key = world.provision_tree(user).await;
        // A process that left the group ends too.
        let mark = format!("30{}", u8::from(world.has_users));
        let text = format!("echo begun; setsid sleep {mark}.25 & sleep 300");
        let end = world.exec(&key, user, &text, 1_000).await;
        assert_eq!(
            (end.exit_code, end.timed_out, end.stdout.as_str()),
            (124, true, "begun\n")
        );
        assert!(!is_running(&format!("sleep\0{mark}.25")));
        assert_eq!(
            world.exec(&key, user, "kill -9 $$", 10_000).await.exit_code,
            137
        );
        let end = world
            .exec(
                &key,
                user,
                "head -c 1000000 /dev/zero | tr '\\0' x; echo e >&2",
                10_000,
            )
            .await;
        assert_eq!((end.stdout.len(), end.stderr.as_str()), (400_004, "e\n"));
        world.exec(&key, user, "chmod 000 .", 10_000).await;
        assert_eq!(
            world
                .exec(&key, user, "echo still usable", 10_000)
                .await
                .stdout,
            "still usable\n"
        );
        let end = world
            .exec(&key, user, "env; cat /dev/null > /dev/stderr; pwd", 10_000)
            .await;
        assert!(
            !end.stdout.contains(TOKEN) && end.stdout.contains("GIT_TERMINAL_PROMPT=0"),
            "{end:?}"
        );
        assert_eq!(end.exit_code, 0, "streams can be opened again: {end:?}");
    }
}

/// On a host the confinement ends it. In a container root may not trace processes.
#[tokio::test]
async fn process_that_left_the_group_ends_with_its_command() {
    let to_look = CapabilitySet::SYS_PTRACE | CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN;
    let mut own = capabilities(None).unwrap();
    own.effective.remove(to_look);
    own.permitted.remove(to_look);
    set_capabilities(None, own).unwrap();
    for world in World::all().into_iter().filter(|world| world.has_users) {
        let user = pool(0);
        let key = world.provision_tree(user).await;
        let mark = "310.25";
        let text = format!(
            "setsid sh -c 'echo > left; exec sleep {mark}' > /dev/null 2>&1 &
             until test -e left; do sleep 0.01; done"
        );
        let end = world.exec(&key, user, &text, 10_000).await;
        assert_eq!(end.exit_code, 0, "{end:?}");
        assert!(!is_running(&format!("sleep\0{mark}")));
    }
}

/// A process that becomes another program has no environment for a moment, thus no tag. One that
/// starts another and ends is gone before it is looked at, and the other is not in the list yet.
#[tokio::test]
async fn process_that_starts_programs_ends_with_its_command() {
    const TRIES: u32 = 20;
    for world in World::all().into_iter().filter(|world| world.has_users) {
        let user = pool(0);
        let key = world.provision_tree(user).await;
        for next in ["exec \"$0\"", "\"$0\" & exit"] {
            let text = format!(
                "printf '#!/bin/sh\necho > started; {next}\n' > restarts; chmod 755 restarts
                 setsid ./restarts & until test -e started; do sleep 0.01; done; rm started"
            );
            for _ in 0..TRIES {
                let end = world.exec(&key, user, &text, 10_000).await;
                assert_eq!(end.exit_code, 0, "{end:?}");
                assert!(!is_running("/bin/sh\0./restarts"));
            }
        }
    }
}

/// Once the first thread ended, a process looks like one that ended, and has no environment.
#[tokio::test]
async fn process_without_first_thread_ends_with_its_command() {
    const HOLD: &str = "import ctypes, fcntl, threading, time
def hold():
    lock = open(\"lock\", \"w\")
    fcntl.flock(lock, fcntl.LOCK_EX)
    open(\"held\", \"w\")
    time.sleep(900)
threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)";
    for world in World::all().into_iter().filter(|world| world.has_users) {
        let user = pool(0);
        let key = world.provision_tree(user).await;
        let text = format!(
            "setsid python3 -c '{HOLD}' > /dev/null 2>&1 &
             until test -e held && grep -q ') Z' /proc/$!/stat; do sleep 0.01; done"
        );
        let end = world.exec(&key, user, &text, 10_000).await;
        assert_eq!(end.exit_code, 0, "{end:?}");
        let end = world.exec(&key, user, "flock -n lock true", 10_000).await;
        assert_eq!(end.exit_code, 0, "the lock is still held");
    }
}

#[tokio::test]
async fn kill_reaches_all_processes_of_a_user() {
    // Other tests run at the same time and use other users.
    for world in World::all() {
        let user = pool(11);
        let key = world.provision_tree(user).await;
        let mark = format!("sleep\x0040{}.25", u8::from(world.has_users));
        let text = mark.replace('\0', " ");
        let running = world.exec(&key, user, &text, 60_000);
        let killing = async {
            until(|| is_running(&mark)).await;
            world.run(kill(user), StepInput::None).await.unwrap();
        };
        let (end, ()) = tokio::join!(running, killing);
        assert_eq!(end.exit_code, 137);
        assert!(!is_running(&mark));
    }
}

#[tokio::test]
async fn cancelled_attempt_ends_and_is_fenced_out() {
    for world in World::all() {
        world.provision().await;
        let mark = format!("sleep\x0050{}.25", u8::from(world.has_users));
        let request = |attempt| StepRequest {
            job: Job::Cycle { attempt },
            step: build(&mark.replace('\0', " ")),
            input: StepInput::None,
            lock_wait_ms: None,
        };
        let (progress, token) = (Progress::default(), CancellationToken::new());
        let (first, second) = (request(5), request(6));
        let running = world.daemon.perform(&first, &progress, &token);
        let cancelling = async {
            until(|| is_running(&mark)).await;
            // A later attempt ends the earlier attempt.
            let next = world.daemon.perform(&second, &progress, &token);
            let cancel = async {
                until(|| {
                    world
                        .daemon
                        .status()
                        .running
                        .iter()
                        .all(|step| step.job == Job::Cycle { attempt: 6 })
                })
                .await;
                until(|| is_running(&mark)).await;
                world
                    .daemon
                    .cancel(CancelRequest {
                        job: Job::Cycle { attempt: 6 },
                    })
                    .await
            };
            tokio::join!(next, cancel)
        };
        let (end, (next, cancelled)) = tokio::join!(running, cancelling);
        assert_eq!(end.result.unwrap_err().kind, FailureKind::Cancelled);
        assert_eq!(next.result.unwrap_err().kind, FailureKind::Cancelled);
        assert_eq!(cancelled.ended, 1);
        assert!(!is_running(&mark));
        for attempt in [4, 5, 6] {
            let end = world
                .daemon
                .perform(&request(attempt), &progress, &token)
                .await;
            assert_eq!(end.result.unwrap_err().kind, FailureKind::Fenced);
        }
    }
}

/// A cycle begins after the steps from earlier attempts, so a late step changes none of the
/// folders.
#[tokio::test]
async fn cycle_waits_for_earlier_attempts() {
    for world in World::all() {
        world.provision().await;
        let mark = format!("sleep\x0055{}.25", u8::from(world.has_users));
        let earlier = build(&mark.replace('\0', " "));
        let earlier = world.run_as(Job::Cycle { attempt: 5 }, earlier, StepInput::None);
        let begin = async {
            until(|| is_running(&mark)).await;
            for step in cycle_step(Step::AwaitRestores, &CycleContext::default(), 60_000).unwrap() {
                world
                    .run_as(Job::Cycle { attempt: 6 }, step, StepInput::None)
                    .await
                    .unwrap();
            }
            is_running(&mark)
        };
        let (ended, is_left) = tokio::join!(earlier, begin);
        assert_eq!(
            (ended.unwrap_err().kind, is_left),
            (FailureKind::Cancelled, false)
        );
    }
}

#[tokio::test]
async fn locked_mirror_is_busy() {
    let world = World::new(false);
    world.provision().await;
    let (progress, token) = (Progress::default(), CancellationToken::new());
    let request = |id, lock_wait_ms| StepRequest {
        job: Job::Request { id },
        step: build("sleep 600.25"),
        input: StepInput::None,
        lock_wait_ms,
    };
    let (holder, waiter) = (request(1, None), request(2, Some(20)));
    let holding = world.daemon.perform(&holder, &progress, &token);
    let waiting = async {
        until(|| is_running("sleep\x00600.25")).await;
        let end = world.daemon.perform(&waiter, &progress, &token).await;
        world
            .daemon
            .cancel(CancelRequest {
                job: Job::Request { id: 1 },
            })
            .await;
        end
    };
    let (_, end) = tokio::join!(holding, waiting);
    assert_eq!(end.result.unwrap_err().kind, FailureKind::LockTimeout);
}

/// A killed daemon's processes end when the next daemon starts.
#[tokio::test]
async fn next_daemon_ends_orphans() {
    let world = World::new(false);
    world.provision().await;
    let daemon = Arc::clone(&world.daemon);
    let task = tokio::spawn(async move {
        let request = StepRequest {
            job: Job::Request { id: 1 },
            step: build("setsid sleep 700.25 & sleep 700.5"),
            input: StepInput::None,
            lock_wait_ms: None,
        };
        daemon
            .perform(&request, &Progress::default(), &CancellationToken::new())
            .await
    });
    until(|| is_running("sleep\x00700.25")).await;
    drop(open(world.dir.path(), false));
    assert!(!is_running("sleep\x00700.25"));
    assert!(task.await.unwrap().result.is_ok());
}

/// A command has its own folders, and no other that its user could use.
#[tokio::test]
async fn command_has_its_own_folders_only() {
    for world in World::all()
        .into_iter()
        .filter(|world| world.has_users && has_landlock())
    {
        let user = pool(0);
        let key = world.provision_tree(user).await;
        let open = world.dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let mut other = process::Command::new("sleep")
            .arg("600")
            .uid(user.uid())
            .spawn()
            .unwrap();
        let text = format!(
            "touch $TMPDIR/a ~/a b && cat ~/a /etc/passwd >/dev/null && echo to >/dev/stderr\n\
             for try in 'touch {open}/x' 'ls {open}' 'ls {deps}' 'kill -0 {other}'; do\n\
               $try 2>/dev/null && echo \"$try\"\n\
             done; echo end",
            open = open.display(),
            deps = world.real("/workspace/deps").display(),
            other = other.id(),
        );
        let end = world.exec(&key, user, &text, 10_000).await;
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.exit_code),
            ("end\n", "to\n", 0)
        );
    }
}
