//! Tests making, finding and rejecting workspaces.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ars_bot_adapters::upstream::UpstreamProxy;
use ars_bot_ports::{WorkspaceError, WorkspaceProvider as _, WorkspaceRequest};
use futures::future::join_all;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use crate::{
    servers,
    support::{CANARY, TIMEOUT, World, exec, git, must, opened, text, thread, world},
};

#[tokio::test]
async fn thread_reopens_its_tree_with_unsaved_work() {
    let world = world();
    let origin = world.origin();
    let first = world.open_from("t", &origin).await.unwrap();
    first.write("notes/a.txt", b"draft").await.unwrap();
    let again = world.open_from("t", &origin).await.unwrap();
    assert_eq!(text(&*again, "notes/a.txt").await.as_deref(), Some("draft"));
    let other = world.open_from("other", &origin).await.unwrap();
    assert!(matches!(
        other.read("notes/a.txt", 100).await,
        Err(WorkspaceError::NotFound(_))
    ));
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
    assert_eq!(
        world.provider.repository_of(&thread("new")).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn tree_is_never_replaced() {
    let world = world();
    let origin = world.origin();
    let place = origin.display().to_string();
    let never = CancellationToken::new();
    let open = async |origin: &str, git_ref| world.open_at("t", origin, git_ref, &never).await;
    open(&place, Some("topic"))
        .await
        .unwrap()
        .write("draft", b"unsaved")
        .await
        .unwrap();

    let refused = open("/elsewhere", None).await.err().unwrap();
    assert!(matches!(refused, WorkspaceError::Refused(text) if text.contains("acme/app")));
    let refused = open(&place, Some("main")).await.err().unwrap();
    assert!(matches!(refused, WorkspaceError::Refused(text) if text.contains("topic")));

    for git_ref in [Some("topic"), None] {
        let again = open(&place, git_ref).await.unwrap();
        assert_eq!(text(&*again, "draft").await.as_deref(), Some("unsaved"));
    }
}

#[tokio::test]
async fn only_branches_tags_and_commits_are_refs() {
    let world = world();
    let origin = world.origin().display().to_string();
    let never = CancellationToken::new();
    let open = async |thread: &str, git_ref: &str| {
        world.open_at(thread, &origin, Some(git_ref), &never).await
    };

    let topic = open("branch", "topic").await.unwrap();
    assert!(text(&*topic, "topic.txt").await.is_some());
    let head = topic.head().await.unwrap().unwrap();
    assert_eq!(
        open("commit", &head)
            .await
            .unwrap()
            .head()
            .await
            .unwrap()
            .unwrap(),
        head
    );
    let tag = open("tag", "v1").await.unwrap();
    assert!(text(&*tag, "topic.txt").await.is_none());
    // A file's name is not a ref, although `git checkout` accepts it.
    for unknown in ["nowhere", "src"] {
        let error = open("unknown", unknown).await.err().unwrap();
        let names = |text: &str| {
            text.contains("`ref` names no") && text.contains("main") && text.contains("topic")
        };
        assert!(
            matches!(&error, WorkspaceError::Clone(text) if text.contains(unknown)),
            "{error}"
        );
        assert!(names(&error.to_string()), "{error}");
    }
    // A failed attempt leaves no files, so the next attempt starts afresh.
    assert_eq!(world.places().len(), 3);
    assert!(open("unknown", "main").await.is_ok());
}

#[tokio::test]
async fn branch_precedes_tag_of_the_same_name() {
    let world = world();
    let origin = world.origin();
    git(&origin, &["branch", "v1", "topic"]);
    let origin = origin.display().to_string();
    let tree = world
        .open_at("t", &origin, Some("v1"), &CancellationToken::new())
        .await
        .unwrap();
    assert!(text(&*tree, "topic.txt").await.is_some());
    assert_eq!(
        must(
            &*tree,
            "git symbolic-ref HEAD; git rev-parse --abbrev-ref @{u}"
        )
        .await,
        "refs/heads/v1\norigin/v1\n"
    );
}

#[tokio::test]
async fn any_name_of_a_branch_is_a_start() {
    let world = world();
    let origin = world.origin();
    let names = [
        "fix/#12-crash",
        "a+b",
        "T-1@add",
        "größe",
        "1.0,2",
        "$(x)",
        "it's",
        "refs/heads/odd",
        "a.lock.b",
    ];
    for name in names {
        git(
            &origin,
            &["update-ref", &format!("refs/heads/{name}"), "topic"],
        );
    }
    let place = origin.display().to_string();
    for name in names {
        let tree = world
            .open_at(name, &place, Some(name), &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            must(&*tree, "git symbolic-ref HEAD").await,
            format!("refs/heads/{name}\n")
        );
        assert!(text(&*tree, "topic.txt").await.is_some(), "{name}");
    }
}

/// Git clones such a repository with a warning, and the tree is empty.
#[tokio::test]
async fn missing_default_branch_is_an_error() {
    let world = world();
    let origin = world.origin();
    git(&origin, &["symbolic-ref", "HEAD", "refs/heads/gone"]);
    let error = world.open_from("t", &origin).await.err().unwrap();
    let has_advice =
        |text: &str| text.contains("`ref:`") && text.contains("main") && text.contains("topic");
    assert!(
        matches!(&error, WorkspaceError::Clone(text) if has_advice(text)),
        "{error}"
    );
    let origin = origin.display().to_string();
    let tree = world
        .open_at("t", &origin, Some("topic"), &CancellationToken::new())
        .await
        .unwrap();
    assert!(text(&*tree, "topic.txt").await.is_some());
}

#[tokio::test]
async fn failed_clone_quotes_git() {
    let world = world();
    let error = world
        .open_from("t", Path::new("/nowhere/at all"))
        .await
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(matches!(error, WorkspaceError::Clone(_)));
    assert!(
        text.contains("/nowhere/at all") && text.contains("does not exist"),
        "{text}"
    );
    assert!(world.places().is_empty());
}

#[tokio::test]
async fn origin_is_never_an_option_or_a_program() {
    let world = world();
    let mark = world.folder.path().join("owned");
    let mark_text = mark.display();
    for origin in [
        format!("--upload-pack=touch {mark_text}"),
        format!("-u touch {mark_text}"),
        format!("ext::sh -c 'touch {mark_text}'"),
        format!("ssh://-oProxyCommand=touch {mark_text}/x"),
        format!("$(touch {mark_text})"),
        String::new(),
    ] {
        let error = world
            .open_from("t", Path::new(&origin))
            .await
            .err()
            .unwrap();
        assert!(
            matches!(error, WorkspaceError::Clone(_)),
            "{origin}: {error}"
        );
        assert!(!mark.exists(), "{origin}");
    }
}

#[tokio::test]
async fn clone_uses_the_proxy_of_the_service() {
    let (target, url) = servers::silent().await;
    let upstream =
        UpstreamProxy::from_service(|name| (name == "HTTPS_PROXY").then(|| url.clone().into()));
    let world = world();
    let world = World {
        provider: world.provider.with_upstream(Arc::new(upstream)),
        ..world
    };
    // The proxy ends after the first request, also for git's second attempt.
    let read = async move {
        let (mut stream, _) = target.accept().await.unwrap();
        let mut head = vec![0; 1000];
        let read = stream.read(&mut head).await.unwrap();
        String::from_utf8_lossy(&head[..read]).into_owned()
    };
    let cloned = world.open_from("t", Path::new("https://git.example.invalid/a/b.git"));
    let (cloned, head) = tokio::join!(cloned, read);
    assert!(
        head.starts_with("CONNECT git.example.invalid:443 "),
        "{head}"
    );
    assert!(cloned.is_err());
}

#[tokio::test]
async fn clone_follows_no_redirect() {
    let world = world();
    let (target, url) = servers::silent().await;
    let address = servers::redirecting_to(&url).await;
    let error = world
        .open_at("t", &address, None, &CancellationToken::new())
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("could not be cloned"), "{error}");
    assert!(target.into_std().unwrap().accept().is_err(), "{error}");
}

#[tokio::test]
async fn credentials_reach_only_git() {
    let world = world();
    let (address, shown) =
        servers::with_password(&world.origin(), &format!("bot@home:{CANARY}")).await;
    let url = format!("http://bot%40home:{CANARY}@{address}");
    let never = CancellationToken::new();
    let workspace = world.open_at("t", &url, None, &never).await.unwrap();
    assert!(text(&*workspace, "src/lib.txt").await.is_some());
    {
        let shown = shown.lock().unwrap();
        assert!(
            shown.contains("remote-http") && shown.contains("HOME="),
            "git was looked at: {shown}"
        );
        assert!(!shown.contains(CANARY), "{shown}");
    }

    let kept = must(&*workspace, "cat .git/config; git remote -v").await;
    assert!(kept.contains(&address) && !kept.contains(CANARY), "{kept}");
    let own = world
        .provider
        .repository_of(&thread("t"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(own.origin, format!("http://{address}"));
    // The thread is found again by both the configured and the clean origin.
    for origin in [&url, &own.origin] {
        assert!(world.open_at("t", origin, None, &never).await.is_ok());
    }

    let wrong = format!("http://bot:wrong-{CANARY}@{address}");
    let error = world
        .open_at("other", &wrong, None, &never)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains(&address) && !error.contains(CANARY),
        "{error}"
    );
}

#[tokio::test]
async fn cancelled_clone_leaves_no_files() {
    let world = world();
    let (listener, url) = servers::silent().await;
    let cancel = CancellationToken::new();
    let (opened, ()) = tokio::join!(world.open_at("t", &url, None, &cancel), async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        connection.read_exact(&mut request).await.unwrap();
        assert_eq!(&request, b"GET /rep");
        // A caller that waits for the clone can be cancelled too.
        let impatient = CancellationToken::new();
        impatient.cancel();
        let behind = world
            .open_at("t", &url, None, &impatient)
            .await
            .err()
            .unwrap();
        assert!(matches!(behind, WorkspaceError::Cancelled));
        cancel.cancel();
        let ended = tokio::time::timeout(TIMEOUT, connection.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_ok(), "git still holds its connection");
    });
    assert!(matches!(opened.err().unwrap(), WorkspaceError::Cancelled));
    assert!(world.places().is_empty());
}

#[tokio::test]
async fn concurrent_openings_of_one_thread_share_one_tree() {
    let world = world();
    let origin = world.origin();
    let opened = join_all((0..8).map(|_| world.open_from("t", &origin))).await;
    opened[0]
        .as_ref()
        .unwrap()
        .write("mark", b"x")
        .await
        .unwrap();
    for workspace in &opened {
        assert!(text(&**workspace.as_ref().unwrap(), "mark").await.is_some());
    }
    assert_eq!(world.places().len(), 1);
}

#[tokio::test]
async fn workspace_without_a_repository_is_empty() {
    let world = world();
    let thread = thread("t");
    let request = WorkspaceRequest::for_thread(&thread);
    let workspace = world
        .provider
        .open(request, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        (workspace.repository(), workspace.head().await.unwrap()),
        (None, None)
    );
    workspace.write("a.txt", b"new\n").await.unwrap();
    assert!(workspace.diff().await.unwrap().contains("+new"));
    assert_eq!(
        exec(&*workspace, "git add . && git commit -qm first")
            .await
            .exit_code,
        0
    );
    assert!(workspace.head().await.unwrap().is_some());
    assert!(workspace.diff().await.unwrap().contains("+new"));
    let origin = world.origin();
    assert!(matches!(
        world.open_from("t", &origin).await,
        Err(WorkspaceError::Refused(_))
    ));
}

#[tokio::test]
async fn empty_origin_has_no_head() {
    let world = world();
    let origin = world.folder.path().join("empty");
    std::fs::create_dir(&origin).unwrap();
    crate::support::git(&origin, &["init", "-q"]);
    let workspace = world.open_from("t", &origin).await.unwrap();
    assert_eq!(workspace.head().await.unwrap(), None);
    workspace.write("a.txt", b"new\n").await.unwrap();
    assert!(workspace.diff().await.unwrap().contains("+new"));
}

#[tokio::test]
async fn damaged_metadata_is_a_fault() {
    let (world, workspace) = opened().await;
    workspace.write("draft", b"unsaved").await.unwrap();
    let mut stored = std::fs::read_dir(world.folder.path().join("data/meta")).unwrap();
    std::fs::write(stored.next().unwrap().unwrap().path(), "{").unwrap();
    let origin = world.folder.path().join("origin");
    assert!(matches!(
        world.open_from("t", &origin).await,
        Err(WorkspaceError::Infra(_))
    ));
    assert_eq!(
        std::fs::read_to_string(world.tree().join("draft")).unwrap(),
        "unsaved"
    );
}

#[tokio::test]
async fn abandoned_incomplete_workspace_is_removed() {
    let world = world();
    let root = world.folder.path().join("data/workspaces");
    for (name, age) in [
        (".making-old", Duration::from_secs(2 * 60 * 60)),
        (".making-new", Duration::ZERO),
    ] {
        std::fs::create_dir_all(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("stump"), "x").unwrap();
        let folder = std::fs::File::open(root.join(name)).unwrap();
        folder.set_modified(SystemTime::now() - age).unwrap();
    }
    world.open().await;
    assert!(!root.join(".making-old").exists());
    assert!(root.join(".making-new").exists());
}

#[tokio::test]
async fn missing_tree_has_no_repository() {
    let world = world();
    let origin = world.origin();
    world.open_from("t", &origin).await.unwrap();
    std::fs::remove_dir_all(world.tree()).unwrap();
    let thread = thread("t");
    let request = WorkspaceRequest::for_thread(&thread);
    let opened = world
        .provider
        .open(request, &CancellationToken::new())
        .await;
    assert!(
        matches!(opened.err().unwrap(), WorkspaceError::Infra(_)),
        "no empty tree in its place"
    );

    std::fs::remove_dir_all(world.folder.path().join("data/workspaces")).unwrap();
    assert_eq!(world.provider.repository_of(&thread).await.unwrap(), None);
}
