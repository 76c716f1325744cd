//! What a user's holder, or a commit, leaves for the next: nothing.

use std::{fs, os::unix::fs::MetadataExt as _};

use ars_resident::daemon::StepInput;
use ars_resident::names::{LockfileKey, TableCommand};
use ars_resident::plan::{PlanStep, evict, install};
use ars_resident::thread::TreeDecision;

use super::world::{Provisioned, World, is_running, main_ref, pool, thread};

/// Commands that leave something, and that list what is there.
struct Probe {
    plant: String,
    find: String,
}

/// Returns a world's commands. On a host there is a single user, and the sandbox hides the
/// machine's folders.
fn probe(world: &World) -> Probe {
    let shared = if world.has_users {
        "/tmp /var/tmp /dev/shm"
    } else {
        ""
    };
    let name = format!("planted-{}", uuid(world));
    let plant = format!(
        "for at in \"$HOME\" \"${{TMPDIR:-$HOME}}\" {shared}; do mkdir -p $at/{name}/locked && echo x > $at/{name}/locked/x
         chmod 500 $at/{name}/locked; done; mkdir -p ~/.config/git && echo '*' > ~/.config/git/ignore
         printf '[core]\\nfsmonitor = touch pwned\\n' > ~/.gitconfig; echo script-shell=x > ~/.npmrc; chmod 500 ~"
    );
    let find = format!(
        "find \"$HOME\" \"${{TMPDIR:-$HOME}}\" -mindepth 1 ! -path \"$HOME/tmp\"
         for at in {shared}; do ls -d $at/{name} 2> /dev/null; done; true"
    );
    Probe { plant, find }
}

/// Returns a name that no other test uses.
fn uuid(world: &World) -> String {
    world
        .dir
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .trim_start_matches('.')
        .to_owned()
}

#[tokio::test]
async fn next_holder_of_a_user_finds_an_empty_home() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (first, second, user) = (thread("load:1"), thread("load:2"), pool(7));
        world
            .attach(&provisioned, &first, user, TreeDecision::Create)
            .await;
        let Probe { plant, find } = probe(&world);
        assert_eq!(world.exec(&first, user, &plant, 10_000).await.exit_code, 0);
        for step in evict(&first, &main_ref(), user, false) {
            world.run(step, StepInput::None).await.unwrap();
        }
        world
            .attach(&provisioned, &second, user, TreeDecision::Create)
            .await;
        let found = world.exec(&second, user, &find, 10_000).await;
        assert_eq!(
            (found.stdout.as_str(), found.exit_code),
            ("", 0),
            "{found:?}"
        );
    }
}

/// A daemon that starts cannot know what another version left.
#[tokio::test]
async fn homes_are_empty_after_a_start() {
    for mut world in World::all() {
        let home = world.dir.path().join("h").join(pool(7).to_string());
        fs::write(home.join(".gitconfig"), "[core]\n").unwrap();
        world.restart();
        assert!(home.is_dir() && !home.join(".gitconfig").exists());
    }
}

/// A thread's saved work is not in another thread's tree.
#[tokio::test]
async fn new_tree_has_no_saved_work_of_others() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (first, second) = (thread("load:1"), thread("load:2"));
        world
            .attach(&provisioned, &first, pool(0), TreeDecision::Create)
            .await;
        world
            .exec(&first, pool(0), "echo plan-of-the-first > plan.txt", 10_000)
            .await;
        for step in evict(&first, &main_ref(), pool(0), true) {
            world.run(step, StepInput::None).await.unwrap();
        }
        let all = "git cat-file --batch-all-objects --batch | grep -c plan-of-the-first; \
                   git for-each-ref --format '%(refname)'";
        let expected = "0\nrefs/heads/main\nrefs/remotes/origin/HEAD\nrefs/remotes/origin/main\n";
        world
            .attach(&provisioned, &second, pool(1), TreeDecision::Create)
            .await;
        assert_eq!(
            world.exec(&second, pool(1), all, 10_000).await.stdout,
            expected
        );
        let third = thread("load:3");
        world.attach_spare(&provisioned, &third, pool(2)).await;
        assert_eq!(
            world.exec(&third, pool(2), all, 10_000).await.stdout,
            expected
        );
    }
}

fn install_of(provisioned: &Provisioned, listing: &str, command: &str) -> PlanStep {
    let command = TableCommand::parse(command).unwrap();
    install(
        &LockfileKey::of_listing(listing),
        &provisioned.sha,
        &command,
    )
}

/// Package scripts run as the build user, for each commit that anyone names.
#[tokio::test]
async fn installation_leaves_nothing_for_the_next() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let Probe { plant, find } = probe(&world);
        let survivor = format!("survivor-{}", uuid(&world));
        let command = format!(
            "{plant}; mkdir -p node_modules/x; echo 1 > node_modules/x/index.js
             setsid bash -c 'exec -a {survivor} tail -f /dev/null' > /dev/null 2>&1 &"
        );
        world
            .run(install_of(&provisioned, "first", &command), StepInput::None)
            .await
            .unwrap();
        assert!(
            !is_running(&survivor),
            "a process of the build user outlives its step"
        );
        let entry = |listing| {
            world.real(&format!(
                "/workspace/deps/{}",
                LockfileKey::of_listing(listing)
            ))
        };
        let metadata = fs::metadata(entry("first").join("node_modules/x/index.js")).unwrap();
        assert_eq!(
            metadata.uid(),
            rustix::process::geteuid().as_raw(),
            "the build user can change it"
        );
        assert_eq!(metadata.mode() & 0o222, 0);
        let look = format!("mkdir -p node_modules/x; ({find}) > node_modules/x/found");
        world
            .run(install_of(&provisioned, "second", &look), StepInput::None)
            .await
            .unwrap();
        assert_eq!(
            fs::read_to_string(entry("second").join("node_modules/x/found")).unwrap(),
            ""
        );
    }
}
