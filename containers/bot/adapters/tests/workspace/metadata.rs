//! Tests workspace metadata, and trees that are no folders any more.

use std::{fs, os::unix::fs::symlink, path::Path};

use ars_bot_ports::{WorkspaceError, WorkspaceProvider as _, WorkspaceRequest};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::support::{CANARY, TIMEOUT, World, text, thread, world};

/// Returns how many workspaces were set aside.
fn set_aside(world: &World) -> usize {
    world
        .places()
        .iter()
        .filter(|name| name.starts_with(".set-aside-"))
        .count()
}

#[tokio::test]
async fn metadata_in_an_unusual_file_is_an_error() {
    let make: [fn(&Path); 4] = [
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        |path| symlink("/dev/zero", path).unwrap(),
        |path| fs::write(path, vec![b' '; 1 << 20]).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for make in make {
        let world = world();
        world.open_from("t", &world.origin()).await.unwrap();
        let folder = world.folder.path().join("data/meta");
        let stored = fs::read_dir(&folder).unwrap().next().unwrap();
        let stored = stored.unwrap().path();
        fs::remove_file(&stored).unwrap();
        make(&stored);
        let thread = thread("t");
        let read = timeout(TIMEOUT, world.provider.repository_of(&thread)).await;
        let error = read.unwrap().unwrap_err();
        assert!(matches!(error, WorkspaceError::Infra(_)), "{error}");
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
    let request = WorkspaceRequest::for_thread(&thread);
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
