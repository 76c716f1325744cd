//! Files, trees, diffs and comparisons.

use ars_bot_ports::{
    CodeHost as _,
    code_host::{FileContent, NewIssue, NewPullRequest},
};
use ars_codehost::{diff::Change, pull_request::PullRequestText};
use ars_testkit::github::FakeComment;

use crate::support::{World, app, branch, world};

#[tokio::test]
async fn files_and_folders_are_read() {
    let world = world().await;
    let large = "x".repeat(2 << 20);
    let odd = "src/a b#c?.txt";
    world.fake.commit(
        "acme/app",
        "main",
        &[
            (odd, Some("odd")),
            ("big", Some(&large)),
            ("bin", Some("a\0b")),
        ],
    );
    let read = async |path: &str| world.host.file(&app(), path, None).await;
    for (path, expected, is_cut) in [(odd, "odd", false), ("big", &large[..200_000], true)] {
        let FileContent::Text(found) = read(path).await.unwrap() else {
            panic!("{path}")
        };
        assert_eq!(
            (found.text == expected, found.truncated),
            (true, is_cut),
            "{path}"
        );
    }
    assert_eq!(read("bin").await.unwrap(), FileContent::Binary { bytes: 3 });
    let FileContent::Folder(entries) = read("src").await.unwrap() else {
        panic!()
    };
    assert_eq!(entries.len(), 2);
    for path in ["gone", "../../../user", ".."] {
        assert!(read(path).await.unwrap_err().is_not_found(), "{path}");
    }
    let before = world
        .host
        .file(&app(), "big", Some(&world.main))
        .await
        .unwrap_err();
    assert!(before.is_not_found());
    let tree = world.host.tree(&app(), None).await.unwrap();
    assert!(
        tree.entries
            .iter()
            .any(|entry| entry.path == odd && entry.bytes == Some(3))
    );
    assert_eq!(
        world
            .host
            .search_code(&app(), "three")
            .await
            .unwrap()
            .entries[0]
            .path,
        "src/a.rs"
    );
}

#[tokio::test]
async fn diffs_agree_with_git() {
    let world = world().await;
    let changes = [
        ("src/a.rs", Some("one\nthree\nfour\n")),
        ("new", Some("n\n")),
        ("README.md", None),
        ("bin", Some("\0")),
    ];
    let head = world.fake.commit("acme/app", "topic", &changes);
    world
        .fake
        .commit("acme/app", "main", &[("other", Some("o"))]);
    let compared = world.host.compare(&app(), "main", "topic").await.unwrap();
    assert_eq!((compared.ahead, compared.behind), (1, 1));
    assert_eq!(compared.merge_base.unwrap().as_str(), world.main);
    let head_now = world
        .host
        .branch_head(&app(), &branch("topic"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(head_now.as_str(), head);
    let diff = compared.files.diff();
    let mut paths: Vec<_> = diff.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["README.md", "bin", "new", "src/a.rs"]);
    let binary = diff.files.iter().find(|file| file.path == "bin").unwrap();
    assert_eq!((&binary.change, diff.totals()), (&Change::Binary, (2, 2)));
}

/// Opens the pull request for the branch `ars/r1`. Returns the number.
async fn opened(world: &World) -> u64 {
    let request = NewPullRequest {
        text: PullRequestText {
            title: "t".into(),
            body: String::new(),
        },
        head: branch("ars/r1"),
        base: branch("main"),
        is_draft: true,
    };
    world
        .host
        .open_pull_request(&app(), &request)
        .await
        .unwrap()
        .number
}

#[tokio::test]
async fn long_diff_is_cut_after_a_line() {
    let world = world().await;
    let long: String = (0..2_000).map(|line| format!("line {line}\n")).collect();
    world
        .fake
        .commit("acme/app", "ars/r1", &[("long", Some(&long))]);
    let number = opened(&world).await;
    let cut = world
        .host
        .unified_diff(&app(), number, 1_000)
        .await
        .unwrap();
    assert!(cut.truncated && cut.text.ends_with('\n') && cut.text.len() <= 1_000);
    let whole = world
        .host
        .unified_diff(&app(), number, 1 << 20)
        .await
        .unwrap();
    assert!(!whole.truncated && whole.text.ends_with("+line 1999\n"));
}

/// The host shows no diff with more than 300 files or 20,000 lines.
#[tokio::test]
async fn large_diff_is_made_of_patches() {
    let world = world().await;
    let names: Vec<String> = (0..301).map(|index| format!("many/{index:03}")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), Some("text\n")))
        .collect();
    world.fake.commit("acme/app", "ars/r1", &files);
    let number = opened(&world).await;
    let diff = world
        .host
        .unified_diff(&app(), number, 1 << 20)
        .await
        .unwrap();
    let first =
        "diff --git a/many/000 b/many/000\n--- /dev/null\n+++ b/many/000\n@@ -0,0 +1 @@\n+text\n";
    assert!(
        diff.text.starts_with(first) && diff.text.ends_with("+text\n"),
        "{}",
        diff.text
    );
    assert_eq!(
        (diff.text.matches("diff --git ").count(), diff.truncated),
        (301, false)
    );

    let long: String = (0..20_001).map(|line| format!("{line}\n")).collect();
    let mut files: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    files.push(("long", Some(long.as_str())));
    world.fake.commit("acme/app", "ars/r1", &files);
    let diff = world
        .host
        .unified_diff(&app(), number, 1 << 20)
        .await
        .unwrap();
    assert!(diff.text.starts_with("diff --git a/long b/long\n") && diff.text.ends_with("+20000\n"));
}

/// If a discussion has more pages than are read, the last comments are listed.
#[tokio::test]
async fn long_discussion_lists_its_last_comments() {
    let world = world().await;
    let new = NewIssue {
        title: "Long".into(),
        ..NewIssue::default()
    };
    let number = world.host.create_issue(&app(), &new).await.unwrap().number;
    for (total, first, count) in [
        (100, 1, 100),
        (101, 1, 101),
        (300, 1, 300),
        (301, 101, 201),
        (450, 201, 250),
    ] {
        world.fake.change("acme/app", |repository| {
            let comments = &mut repository.items.get_mut(&number).unwrap().comments;
            *comments = (1..=total)
                .map(|id| FakeComment {
                    id,
                    ..FakeComment::default()
                })
                .collect();
        });
        let listed = world.host.comments(&app(), number).await.unwrap();
        let ids: Vec<u64> = listed.entries.iter().map(|comment| comment.id).collect();
        assert_eq!(
            (ids.first(), ids.last(), ids.len()),
            (Some(&first), Some(&total), count),
            "{total}"
        );
        assert_eq!(listed.truncated, first > 1, "{total}");
    }
}
