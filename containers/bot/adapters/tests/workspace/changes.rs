//! Tests the changes in a thread's tree.

use crate::support::{must, opened};

#[tokio::test]
async fn diff_shows_all_work_and_changes_no_object() {
    let (_world, workspace) = opened().await;
    workspace
        .write("src/lib.txt", b"one\n2\nthree\n")
        .await
        .unwrap();
    workspace.write("new.txt", b"new\n").await.unwrap();
    must(
        &*workspace,
        "git add src/lib.txt && git commit -qm mine && echo x > ignored",
    )
    .await;
    must(
        &*workspace,
        "echo staged > staged.txt && git add staged.txt && echo later >> staged.txt",
    )
    .await;
    must(
        &*workspace,
        "rm .gitignore && printf 'ignored\\n' > .git/info/exclude",
    )
    .await;
    // Everything in git's folder; git itself adds the empty file object for `--intent-to-add`.
    let state = "git status --porcelain; find .git -type f | grep -v objects/e6/9de29 | sort | xargs sha256sum";
    let before = must(&*workspace, state).await;
    let diff = workspace.diff().await.unwrap();
    assert_eq!(must(&*workspace, state).await, before);
    for part in [
        "-two\n+2\n",
        "+++ b/new.txt\n",
        "+new\n",
        "+staged\n+later\n",
        "deleted file mode",
    ] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    assert!(!diff.contains("b/ignored"));
}

#[tokio::test]
async fn names_are_readable_in_diffs_and_commands() {
    let (_world, workspace) = opened().await;
    workspace.write("Größe 文档.md", b"a\n").await.unwrap();
    let diff = workspace.diff().await.unwrap();
    assert!(diff.contains("+++ b/Größe 文档.md"), "{diff}");
    assert_eq!(
        must(&*workspace, "git status --short").await,
        "?? \"Größe 文档.md\"\n"
    );
}

#[tokio::test]
async fn diff_ignores_repository_settings() {
    let (_world, workspace) = opened().await;
    workspace
        .write("src/lib.txt", b"one\n2\nthree\n")
        .await
        .unwrap();
    let plain = workspace.diff().await.unwrap();
    assert!(
        plain.starts_with("diff --git a/src/lib.txt b/src/lib.txt\n"),
        "{plain}"
    );
    let prefer = "git config diff.noprefix true; git config color.ui always; git config diff.mnemonicPrefix true; \
                  git config core.bare true";
    must(&*workspace, prefer).await;
    assert_eq!(workspace.diff().await.unwrap(), plain);
}

#[tokio::test]
async fn diff_runs_no_configured_program() {
    let (_world, workspace) = opened().await;
    let configure = "for key in clean process; do git config filter.x.$key 'touch .ars/ran; cat'; done; \
                     git config filter.x.required true; git config diff.x.command 'touch .ars/ran; true'; \
                     git config diff.x.textconv 'touch .ars/ran; cat'; git config core.fsmonitor 'touch .ars/ran'; \
                     mkdir -p .ars; printf '*.txt filter=x diff=x\\n' | tee .gitattributes > .git/info/attributes";
    must(&*workspace, configure).await;
    workspace
        .write("src/lib.txt", b"one\n2\nthree\n")
        .await
        .unwrap();
    let diff = workspace.diff().await.unwrap();
    assert!(diff.contains("-two\n+2\n"), "{diff}");
    must(&*workspace, "test ! -e .ars/ran").await;
}

#[tokio::test]
async fn diff_applies_to_the_first_commit() {
    let (world, workspace) = opened().await;
    must(
        &*workspace,
        "echo 2 >> src/lib.txt; mkdir d; echo ü > 'd/ü x'; git rm -q .gitignore; git commit -qam x",
    )
    .await;
    let diff = workspace.diff().await.unwrap();
    let other = world
        .open_from("other", &world.folder.path().join("origin"))
        .await
        .unwrap();
    other
        .write("../x.patch", diff.as_bytes())
        .await
        .unwrap_err();
    other.write("x.patch", diff.as_bytes()).await.unwrap();
    must(&*other, "git apply x.patch && rm x.patch").await;
    assert_eq!(other.diff().await.unwrap(), diff);
}

#[tokio::test]
async fn committed_ignored_files_are_in_the_diff() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "echo forced > ignored && git add -f ignored && git commit -qm forced",
    )
    .await;
    assert!(workspace.diff().await.unwrap().contains("+forced"));
}

#[tokio::test]
async fn nested_repositories_do_not_break_the_diff() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "git init -q bare-of-commits; git init -q full; cd full; git commit -q --allow-empty -m x",
    )
    .await;
    workspace.write("new.txt", b"new\n").await.unwrap();
    let diff = workspace.diff().await.unwrap();
    assert!(diff.contains("+new") && diff.contains("b/full"), "{diff}");
}

#[tokio::test]
async fn diff_runs_no_program_of_a_nested_repository() {
    let (_world, workspace) = opened().await;
    let nest = "mkdir .ars; for name in new tracked; do git init -q $name; (cd $name; echo 1 > f; \
                echo 'f filter=x' > .gitattributes; git add .; git commit -qm x; echo 22 > f; \
                git config filter.x.clean \"touch $OLDPWD/.ars/ran; cat\"; \
                git config core.fsmonitor \"touch $OLDPWD/.ars/ran; false\"); done; \
                git -c advice.addEmbeddedRepo=false add tracked && git commit -qm tracked && rm -f .ars/ran";
    must(&*workspace, nest).await;
    let diff = workspace.diff().await.unwrap();
    assert!(
        diff.contains("b/new\n") && diff.contains("b/tracked\n"),
        "{diff}"
    );
    must(&*workspace, "test ! -e .ars/ran").await;
    // The agent's own git runs them, so the check above is meaningful.
    must(&*workspace, "git status > /dev/null; test -e .ars/ran").await;
}

#[tokio::test]
async fn conflicted_merge_is_shown_from_disk() {
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
        "git merge mine >/dev/null 2>&1; git ls-files -u | grep -q lib.txt",
    )
    .await;
    let diff = workspace.diff().await.unwrap();
    assert!(
        diff.contains("+<<<<<<< HEAD") && diff.contains("+mine"),
        "{diff}"
    );
}

#[tokio::test]
async fn binaries_are_named_and_huge_diffs_cut() {
    let (_world, workspace) = opened().await;
    must(
        &*workspace,
        "printf 'a\\0b' > a.bin; printf 'caf\\351\\n' > latin1.txt; seq 1000000 > z.txt",
    )
    .await;
    let diff = workspace.diff().await.unwrap();
    assert!(diff.contains("Binary files /dev/null and b/a.bin differ"));
    assert!(diff.contains("+caf\u{fffd}"));
    assert!(diff.len() < (1 << 20) + 200 && diff.ends_with(" are not shown …]\n"));
}
