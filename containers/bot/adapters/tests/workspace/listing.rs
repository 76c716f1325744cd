//! Listing and searching.

use ars_bot_ports::{LINE_BYTES, Workspace, WorkspaceError};

use crate::support::{must, opened};

async fn names(workspace: &dyn Workspace, path: &str) -> Vec<String> {
    workspace
        .list(path, 100)
        .await
        .unwrap()
        .0
        .into_iter()
        .map(|file| file.path)
        .collect()
}

#[tokio::test]
async fn listing_and_searching_follow_gits_ignore_rules() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "echo two > ignored; echo two > new.txt; printf 'two\\0' > binary",
    )
    .await;
    assert_eq!(
        names(&*workspace, ".").await,
        [".gitignore", "binary", "new.txt", "src/lib.txt"]
    );
    assert_eq!(workspace.list(".", 100).await.unwrap().0[3].size, 14);
    let (first, more) = workspace.list(".", 1).await.unwrap();
    assert_eq!((first.len(), more), (1, true));
    let (hits, _) = workspace.search("^t[w]o$", ".", 100).await.unwrap();
    let found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.path.as_str(), hit.line))
        .collect();
    assert_eq!(found, [("new.txt", 1), ("src/lib.txt", 2)]);
    let (hits, more) = workspace.search("two", ".", 1).await.unwrap();
    assert_eq!((hits.len(), more), (1, true));
    assert!(matches!(
        workspace.search("(", ".", 1).await,
        Err(WorkspaceError::Refused(_))
    ));
}

#[tokio::test]
async fn match_returns_the_full_line() {
    let (_world, workspace) = opened().await;
    must(&*workspace, "head -c 5000 /dev/zero | tr '\\0' x > long").await;
    assert_eq!(
        workspace.search("x", ".", 1).await.unwrap().0[0].text.len(),
        5000
    );
}

#[tokio::test]
async fn path_narrows_the_search() {
    let (_world, workspace) = opened().await;
    must(&*workspace, "ln -s src alias; echo two > srcx").await;
    for path in [
        "src",
        "src/",
        "./src",
        "src/lib.txt",
        "alias",
        "alias/lib.txt",
    ] {
        assert_eq!(names(&*workspace, path).await, ["src/lib.txt"], "{path}");
        assert_eq!(
            workspace.search("two", path, 100).await.unwrap().0.len(),
            1,
            "{path}"
        );
    }
    // Git would treat this as a pattern; here it is a name.
    assert!(matches!(
        workspace.list("*", 1).await,
        Err(WorkspaceError::NotFound(_))
    ));
    assert!(matches!(
        workspace.search("x", "nowhere", 1).await,
        Err(WorkspaceError::NotFound(_))
    ));
}

#[tokio::test]
async fn deleted_files_are_not_listed() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "git checkout -qb mine && echo mine > src/lib.txt && git commit -qam mine",
    )
    .await;
    must(
        &*workspace,
        "git checkout -q main && echo yours > src/lib.txt && git commit -qam yours",
    )
    .await;
    must(
        &*workspace,
        "git merge mine >/dev/null 2>&1; git ls-files -u | grep -q lib.txt; rm .gitignore",
    )
    .await;
    assert_eq!(names(&*workspace, ".").await, ["src/lib.txt"]);
}

#[tokio::test]
async fn tree_without_git_is_walked() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "rm -rf .git; mkdir -p a/b; echo two > a/b/c; ln -s / a/root; mkdir -p v/.git; echo x > v/.git/y",
    )
    .await;
    assert_eq!(
        names(&*workspace, ".").await,
        [".gitignore", "a/b/c", "a/root", "src/lib.txt"]
    );
    assert_eq!(names(&*workspace, "a/b").await, ["a/b/c"]);
    assert_eq!(names(&*workspace, "a/b/c").await, ["a/b/c"]);
    assert_eq!(workspace.search("two", ".", 100).await.unwrap().0.len(), 2);
}

#[tokio::test]
async fn large_files_are_skipped() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "head -c 100000 /dev/zero | tr '\\0' x > long; head -c 5000000 /dev/zero | tr '\\0' x > large",
    )
    .await;
    let (hits, _) = workspace.search("xxx", ".", 100).await.unwrap();
    assert_eq!(hits.len(), 1);
    // 300 characters are shown; the line is returned in full, so that secrets can be redacted first.
    assert_eq!(
        (hits[0].path.as_str(), hits[0].text.len()),
        ("long", LINE_BYTES)
    );
}
