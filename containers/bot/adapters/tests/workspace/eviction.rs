//! Tests evicting clean trees, on real git repositories.

use std::{
    collections::HashSet,
    fs::File,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ars_bot_adapters::workspace::Evicted;
use ars_bot_ports::{Workspace, WorkspaceError, WorkspaceProvider as _, WorkspaceRequest};
use tokio_util::sync::CancellationToken;

use crate::support::{World, git, must, text, thread, world};

const HOUR: Duration = Duration::from_secs(3600);

impl World {
    /// Opens a workspace, changes it with a command and closes it. It was last used so many hours
    /// ago.
    async fn used(&self, name: &str, origin: &Path, command: &str, hours: u32) {
        let workspace = self.open_from(name, origin).await.unwrap();
        must(&*workspace, command).await;
        drop(workspace);
        self.age(name, hours);
    }

    fn age(&self, name: &str, hours: u32) {
        let place = File::open(self.place(name)).unwrap();
        place
            .set_modified(SystemTime::now() - HOUR * hours)
            .unwrap();
    }

    fn place(&self, name: &str) -> std::path::PathBuf {
        self.provider
            .tree_of(&thread(name))
            .parent()
            .unwrap()
            .to_path_buf()
    }

    fn is_there(&self, name: &str) -> bool {
        self.place(name).exists()
    }

    /// Evicts down to so many bytes. These threads have a live run.
    async fn evict(&self, live: &[&str], max_bytes: u64) -> Evicted {
        let live: HashSet<_> = live
            .iter()
            .map(|name| thread(name).as_str().to_owned())
            .collect();
        let usage = self.provider.measure().await.unwrap();
        self.provider.evict(usage, &live, max_bytes).await.unwrap()
    }
}

#[tokio::test]
async fn oldest_clean_trees_go_until_the_limit() {
    let world = world();
    let origin = world.origin();
    let fill = "head -c 4000000 /dev/zero > ignored";
    for (name, hours) in [("new", 1), ("oldest", 3), ("old", 2)] {
        world.used(name, &origin, fill, hours).await;
    }
    let usage = world.provider.measure().await.unwrap().bytes();
    assert!((12_000_000..16_000_000).contains(&usage), "{usage}");
    assert_eq!(world.evict(&[], usage).await, Evicted::default());
    let evicted = world.evict(&[], usage - 1).await;
    assert_eq!((evicted.count, evicted.kept.len()), (1, 0));
    assert!(evicted.freed_bytes > 4_000_000);
    assert!(!world.is_there("oldest") && world.is_there("old") && world.is_there("new"));
    assert_eq!(world.evict(&[], 5_000_000).await.count, 1);
    assert!(!world.is_there("old") && world.is_there("new"));
    assert_eq!(world.places().len(), 1, "nothing else stays behind");
}

#[tokio::test]
async fn trees_with_work_stay() {
    let world = world();
    let origin = world.origin();
    let commit = "git commit -qam x";
    for (name, command) in [
        ("changed", "echo more >> src/lib.txt".to_owned()),
        ("staged", "echo more >> src/lib.txt; git add .".to_owned()),
        ("deleted", "rm src/lib.txt".to_owned()),
        ("new file", "mkdir -p a/b; echo x > a/b/c".to_owned()),
        (
            "unreadable",
            "mkdir -p a/b; echo x > a/b/c; chmod 000 a/b".to_owned(),
        ),
        ("committed", format!("echo more >> src/lib.txt; {commit}")),
        (
            "on a branch",
            format!("git checkout -qb mine; echo x >> src/lib.txt; {commit}; git checkout -q main"),
        ),
        (
            "stashed",
            "echo more >> src/lib.txt; git stash -q".to_owned(),
        ),
        (
            "reset",
            format!("echo x >> src/lib.txt; {commit}; git reset -q --hard HEAD~1"),
        ),
        (
            "worktree",
            "git worktree add -q ../home/other v1".to_owned(),
        ),
        ("broken", "rm .git/HEAD".to_owned()),
        (
            "hidden",
            "mv .git ../home/git; ln -s ../home/git .git; echo x > y".to_owned(),
        ),
    ] {
        world.used(name, &origin, &command, 1).await;
        let evicted = world.evict(&[], 0).await;
        assert_eq!(
            (evicted.count, evicted.kept),
            (0, vec![world.place(name)]),
            "{name}"
        );
        std::fs::rename(world.place(name), world.folder.path().join(name)).unwrap();
    }
}

#[tokio::test]
async fn trees_in_use_or_of_live_runs_stay() {
    let world = world();
    let origin = world.origin();
    let open = world.open_from("open", &origin).await.unwrap();
    world.age("open", 1);
    world.used("live", &origin, "true", 1).await;
    world.used("recent", &origin, "true", 0).await;
    assert_eq!(world.evict(&["live"], 0).await, Evicted::default());
    drop(open);
    world.age("open", 1);
    // Another use after the measurement.
    let usage = world.provider.measure().await.unwrap();
    drop(world.open_from("open", &origin).await.unwrap());
    let evicted = world
        .provider
        .evict(usage, &HashSet::new(), 0)
        .await
        .unwrap();
    assert_eq!(evicted.count, 1, "that of the thread without a live run");
    assert!(world.is_there("open") && !world.is_there("live") && world.is_there("recent"));
}

/// A locked reader, the thread's ref, and a folder that its owner cannot change.
#[tokio::test]
async fn evicted_tree_is_cloned_again() {
    let world = world();
    let origin = world.origin();
    let place = origin.display().to_string();
    let never = CancellationToken::new();
    let first = world
        .open_at("t", &place, Some("topic"), &never)
        .await
        .unwrap();
    must(
        &*first,
        "mkdir -p ../home/go/pkg && touch ../home/go/pkg/x && chmod -R a-w ../home/go",
    )
    .await;
    drop(first);
    world.age("t", 1);
    assert_eq!(world.evict(&[], 0).await.count, 1);
    assert_eq!(world.places(), Vec::<String>::new());

    let thread = thread("t");
    let own = world
        .provider
        .repository_of(&thread)
        .await
        .unwrap()
        .unwrap();
    let request = WorkspaceRequest::for_thread(&thread);
    let error = world.provider.open(request, &never).await.err().unwrap();
    assert!(
        matches!(&error, WorkspaceError::Infra(text) if text.contains("free the disk")),
        "{error}"
    );
    let request = WorkspaceRequest {
        own: Some(&own),
        ..request
    };
    let again = world.provider.open(request, &never).await.unwrap();
    assert!(again.is_cloned_again());
    assert_eq!(text(&*again, "topic.txt").await.as_deref(), Some("topic\n"));
    assert!(
        !world
            .provider
            .open(request, &never)
            .await
            .unwrap()
            .is_cloned_again()
    );
    assert_eq!(world.evict(&[], 0).await, Evicted::default());
}

#[tokio::test]
async fn trees_without_an_origin_stay() {
    let world = world();
    let thread = thread("t");
    let request = WorkspaceRequest::for_thread(&thread);
    drop(
        world
            .provider
            .open(request, &CancellationToken::new())
            .await
            .unwrap(),
    );
    world.age("t", 1);
    assert_eq!(world.evict(&[], 0).await.kept, [world.place("t")]);
}

/// Threads open while trees are evicted. Every thread finds the right tree, and keeps it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_excludes_an_eviction() {
    let world = Arc::new(world());
    let origin = world.origin();
    world.used("t", &origin, "true", 1).await;
    let mut evictions = 0;
    for round in 0..20 {
        if round % 2 == 1 {
            evictions += world.evict(&[], 0).await.count;
        }
        let opened = async {
            let workspace = world.open_from("t", &origin).await.unwrap();
            assert!(text(&*workspace, "src/lib.txt").await.is_some());
            workspace
        };
        let (workspace, evicted) = tokio::join!(opened, world.evict(&[], 0));
        evictions += evicted.count;
        assert!(
            text(&*workspace, "src/lib.txt").await.is_some(),
            "it was taken away"
        );
        workspace.write("src/lib.txt", b"work").await.unwrap();
        assert!(!workspace.diff().await.unwrap().is_empty());
        git(
            &world.provider.tree_of(&thread("t")),
            &["checkout", "-q", "."],
        );
        drop::<Arc<dyn Workspace>>(workspace);
        world.age("t", 1);
    }
    assert!(
        evictions >= 10,
        "each second round begins with an eviction: {evictions}"
    );
}
