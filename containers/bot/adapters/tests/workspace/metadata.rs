//! Tests workspace metadata, and trees that are no folders any more.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ars_bot_ports::{WorkspaceError, WorkspaceProvider as _, WorkspaceRequest};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::support::{CANARY, TIMEOUT, World, text, thread, world};

/// Returns the file with the only workspace's metadata.
fn stored(world: &World) -> PathBuf {
    let mut files = fs::read_dir(world.folder.path().join("data/meta")).unwrap();
    files.next().unwrap().unwrap().path()
}

/// Returns how many workspaces were set aside.
fn set_aside(world: &World) -> usize {
    world
        .places()
        .iter()
        .filter(|name| name.starts_with(".set-aside-"))
        .count()
}

#[tokio::test]
async fn metadata_of_an_older_version_is_adopted() {
    let world = world();
    let origin = world.origin();
    world
        .open_from("t", &origin)
        .await
        .unwrap()
        .write("draft", b"unsaved")
        .await
        .unwrap();
    let old = world.tree().with_file_name("meta.json");
    fs::rename(stored(&world), &old).unwrap();
    let again = world.open_from("t", &origin).await.unwrap();
    assert_eq!(text(&*again, "draft").await.as_deref(), Some("unsaved"));
    assert!(!old.exists() && stored(&world).is_file());
    assert_eq!(
        world
            .provider
            .repository_of(&thread("t"))
            .await
            .unwrap()
            .unwrap()
            .name,
        "acme/app"
    );
}

#[tokio::test]
async fn unusual_metadata_is_never_read() {
    let make: [fn(&Path); 5] = [
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        |path| symlink("/dev/zero", path).unwrap(),
        |path| symlink(path.with_file_name("valid.json"), path).unwrap(),
        |path| {
            fs::write(
                path,
                format!("{{\"repository\":\"{}\"}}", "x".repeat(1 << 20)),
            )
            .unwrap();
        },
        |path| fs::create_dir(path).unwrap(),
    ];
    for make in make {
        let world = world();
        let origin = world.origin();
        world
            .open_from("t", &origin)
            .await
            .unwrap()
            .write("draft", b"unsaved")
            .await
            .unwrap();
        let old = world.tree().with_file_name("meta.json");
        fs::rename(stored(&world), old.with_file_name("valid.json")).unwrap();
        make(&old);
        assert_eq!(
            timeout(TIMEOUT, world.provider.repository_of(&thread("t")))
                .await
                .unwrap()
                .unwrap(),
            None
        );
        // The tree is cloned again, and the former content is kept.
        let again = timeout(TIMEOUT, world.open_from("t", &origin))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(text(&*again, "draft").await, None);
        assert_eq!(set_aside(&world), 1);
    }
}

#[tokio::test]
async fn tree_that_became_a_link_is_cloned_again() {
    let world = world();
    let origin = world.origin();
    world.open_from("t", &origin).await.unwrap();
    let private = world.folder.path().join("private");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("private.txt"), CANARY).unwrap();
    fs::rename(world.tree(), world.tree().with_file_name("away")).unwrap();
    symlink(&private, world.tree()).unwrap();

    // A run that continues gets no other tree than its own.
    let thread = thread("t");
    let request = WorkspaceRequest::of(&thread);
    let error = world
        .provider
        .open(request, &CancellationToken::new())
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&error, WorkspaceError::Infra(text) if text.contains("repo:")),
        "{error}"
    );

    let again = world.open_from("t", &origin).await.unwrap();
    assert!(
        text(&*again, "private.txt").await.is_none()
            && text(&*again, "src/lib.txt").await.is_some()
    );
    assert_eq!(set_aside(&world), 1);
    assert_eq!(
        fs::read_to_string(private.join("private.txt")).unwrap(),
        CANARY
    );
}
