//! Removed trees: gone at once, deleted later.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::layout::TRASH;
use ars_resident::plan::{empty_trash, evict};
use ars_resident::thread::TreeDecision;

use super::world::{World, main_ref, open, pool, thread, until};

/// Time in which a test's tree is deleted.
const DELETION_MAX: Duration = Duration::from_secs(20);

#[tokio::test]
async fn evicted_tree_is_unreachable_and_its_space_returns() {
    for world in World::all() {
        let provisioned = world.provision().await;
        let (key, user) = (thread("load:1"), pool(0));
        world
            .attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        // A folder without permissions stops every user but root.
        world
            .exec(
                &key,
                user,
                "mkdir -p shut/in; echo x > shut/in/x; chmod 500 shut/in",
                10_000,
            )
            .await;
        for step in evict(&key, &main_ref(), user, false) {
            world.run(step, StepInput::None).await.unwrap();
        }
        let trash = world.real(TRASH);
        assert!(!world.tree(&key).exists());
        assert_eq!(
            fs::metadata(&trash).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(
            world.run(empty_trash(), StepInput::None).await,
            Ok(Answer::Done)
        );
        assert_eq!(fs::read_dir(&trash).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn next_daemon_deletes_what_a_killed_one_left() {
    for world in World::all() {
        let left = world.real(TRASH).join("left/in");
        fs::create_dir_all(&left).unwrap();
        fs::set_permissions(&left, fs::Permissions::from_mode(0o500)).unwrap();
        let _next = open(world.dir.path(), world.has_users);
        tokio::time::timeout(DELETION_MAX, until(|| !left.exists()))
            .await
            .unwrap();
    }
}
