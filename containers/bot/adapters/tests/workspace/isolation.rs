//! Tests command isolation, and git as the service calls it.

use std::collections::BTreeSet;

use crate::support::{CANARY, exec, git, must, opened, world};

#[tokio::test]
async fn command_environment_is_built_from_scratch() {
    let (world, workspace) = opened().await;
    let output = must(&*workspace, "env -u SHLVL -u _ -u OLDPWD").await;
    let names: BTreeSet<_> = output
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    let expected = "ALL_PROXY GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_CEILING_DIRECTORIES GIT_COMMITTER_EMAIL \
        GIT_COMMITTER_NAME GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_NOSYSTEM GIT_CONFIG_VALUE_0 \
        GIT_TERMINAL_PROMPT HOME HTTPS_PROXY HTTP_PROXY LANG \
        NODE_USE_ENV_PROXY NO_PROXY PATH PWD TERM TMPDIR all_proxy http_proxy https_proxy no_proxy \
        npm_config_https_proxy npm_config_noproxy npm_config_proxy";
    assert_eq!(names, expected.split(' ').collect());
    assert!(!output.contains(CANARY), "{output}");
    let home = world.tree().parent().unwrap().join("home");
    assert_eq!(
        must(&*workspace, "cd && pwd").await.trim(),
        home.canonicalize().unwrap().to_str().unwrap()
    );
}

#[tokio::test]
async fn service_git_runs_no_configured_program() {
    let (world, workspace) = opened().await;
    let mark = world.tree().join(".ars/owned");
    let run = format!("touch {}; false", mark.display());
    let hooks = "for hook in pre-commit post-checkout post-index-change fsmonitor-watchman; do \
                 printf '#!/bin/sh\\n$RUN\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done";
    let configure = format!(
        "mkdir -p .ars; RUN='{run}'; export RUN; {}; \
         for where in --local --global; do \
           for key in core.fsmonitor core.sshCommand core.pager diff.external diff.evil.textconv diff.evil.command \
             credential.helper core.editor gpg.program pager.diff; do \
             git config $where $key \"$RUN\"; \
           done; git config $where core.hooksPath \"$PWD/.git/hooks\"; \
         done; echo '* diff=evil' > .gitattributes",
        hooks.replace("$RUN", &run)
    );
    must(&*workspace, &configure).await;
    let _ = std::fs::remove_file(&mark);
    workspace.write("src/lib.txt", b"changed\n").await.unwrap();

    assert!(workspace.diff().await.unwrap().contains("+changed"));
    assert!(workspace.head().await.unwrap().is_some());
    assert!(!workspace.list(".", 10).await.unwrap().0.is_empty());
    assert!(
        !workspace
            .search("changed", ".", 10)
            .await
            .unwrap()
            .0
            .is_empty()
    );
    assert!(!mark.exists());
    // The agent's own git does run the program, so the check above is meaningful.
    exec(&*workspace, "git status").await;
    assert!(mark.exists());
}

#[tokio::test]
async fn tree_without_git_ignores_outer_repositories() {
    let world = world();
    git(world.folder.path(), &["init", "-q"]);
    std::fs::write(world.folder.path().join("private.txt"), "two").unwrap();
    let workspace = world.open().await;
    must(&*workspace, "rm -rf .git").await;
    let outcome = exec(&*workspace, "git status").await;
    assert!(
        outcome.exit_code != 0 && outcome.output.contains("not a git repository"),
        "{}",
        outcome.output
    );
    assert_eq!(workspace.head().await.unwrap(), None);
    assert!(workspace.diff().await.is_err());
    let (files, _) = workspace.list(".", 100).await.unwrap();
    let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, [".gitignore", "src/lib.txt"]);
}

#[tokio::test]
async fn redirected_work_tree_is_not_shown() {
    let world = world();
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("private.txt"), CANARY).unwrap();
    let workspace = world.open().await;
    must(
        &*workspace,
        &format!("git config core.worktree {}", outside.display()),
    )
    .await;
    assert!(!workspace.diff().await.unwrap().contains(CANARY));
    let (files, _) = workspace.list(".", 100).await.unwrap();
    assert!(files.iter().all(|file| !file.path.contains("private")));
    assert!(
        workspace
            .search(CANARY, ".", 10)
            .await
            .unwrap()
            .0
            .is_empty()
    );
}

#[tokio::test]
async fn command_cannot_inspect_the_service() {
    let (world, workspace) = opened().await;
    let rights = must(
        &*workspace,
        "grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs):' /proc/self/status",
    )
    .await;
    let held: Vec<_> = rights
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(
        held,
        [
            "0000000000000000",
            "0000000000000000",
            "0000000000000000",
            "1"
        ]
    );

    let service = std::process::id();
    for secret in ["environ", "mem", "maps", "fd/0"] {
        let looked = exec(
            &*workspace,
            &format!("head -c 1 /proc/{service}/{secret} | wc -c"),
        )
        .await
        .output;
        assert!(
            looked.contains("Permission denied") && looked.ends_with("0\n"),
            "{secret}: {looked}"
        );
    }
    // A diff runs no filter, because a command may have written it.
    must(
        &*workspace,
        "echo '* filter=look' > .gitattributes; echo changed > src/lib.txt",
    )
    .await;
    let look =
        format!("git config filter.look.clean 'cat /proc/{service}/environ > ../home/looked; cat'");
    must(&*workspace, &look).await;
    workspace.diff().await.unwrap();
    assert!(!world.tree().join("../home/looked").exists());
}
