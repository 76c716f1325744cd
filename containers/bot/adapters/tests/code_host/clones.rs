//! Local workspaces clone private repositories with code host tokens.

use std::sync::Arc;

use ars_bot_adapters::{
    logins::Logins,
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_ports::{
    CodeHost, ExecRequest, Repository, Workspace, WorkspaceError, WorkspaceProvider as _,
    WorkspaceRequest,
};
use ars_testkit::github::FakeGitHub;
use ars_types::{SandboxKind, ThreadKey};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::adapter;

struct Trees {
    fake: FakeGitHub,
    provider: GitWorkspaces,
    folder: TempDir,
}

async fn trees(is_app: Option<bool>) -> Trees {
    let fake = FakeGitHub::start().await;
    fake.add_repository("acme/app", &[("a.txt", "one\n")]);
    let folder = tempfile::tempdir().unwrap();
    let environment = ChildEnvironment::from_service(|name| std::env::var_os(name));
    let sandbox = SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        ..SandboxSettings::default()
    };
    let host = is_app
        .map(|is_app| -> Arc<dyn CodeHost> { Arc::new(adapter(&fake, is_app, &Arc::default())) });
    let provider = GitWorkspaces::new(&folder.path().join("data"), environment, sandbox)
        .with_logins(Logins::new([], host));
    Trees {
        fake,
        provider,
        folder,
    }
}

impl Trees {
    async fn open(&self, thread: &str, path: &str) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let origin = format!("{}/{path}", self.fake.url());
        let repository = Repository {
            name: "acme/app".to_owned(),
            origin,
        };
        let thread = ThreadKey::cli(thread);
        let request = WorkspaceRequest {
            repository: Some(&repository),
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.provider.open(request, &CancellationToken::new()).await
    }

    async fn problem(&self, thread: &str, path: &str) -> String {
        self.open(thread, path).await.err().unwrap().to_string()
    }

    fn mints(&self) -> Vec<Value> {
        let seen = self.fake.seen();
        let mints = seen
            .iter()
            .filter(|seen| seen.target.ends_with("access_tokens"));
        mints
            .map(|seen| serde_json::from_slice(&seen.body).unwrap())
            .collect()
    }
}

/// The token is for a single repository and for reading, and no command or file receives it.
#[tokio::test]
async fn private_repository_is_cloned_with_a_token_of_its_own() {
    let trees = trees(Some(true)).await;
    let tree = trees.open("t", "acme/app.git").await.unwrap();
    assert_eq!(tree.read("a.txt", 10).await.unwrap().0, b"one\n");
    let permissions = json!({ "metadata": "read", "contents": "read" });
    assert_eq!(
        trees.mints(),
        [json!({ "repositories": ["app"], "permissions": permissions })]
    );
    let used = trees
        .fake
        .seen()
        .iter()
        .rev()
        .find_map(|seen| seen.token.clone())
        .unwrap();
    let command = "env; cat .git/config; ls -A .. ../home";
    let request = ExecRequest {
        command,
        timeout: std::time::Duration::from_secs(60),
        output_limit: 100_000,
    };
    let shown = tree
        .exec(request, &CancellationToken::new())
        .await
        .unwrap()
        .output;
    assert!(
        shown.contains("acme/app.git") && !shown.contains(&used),
        "{shown}"
    );
    let found = std::process::Command::new("grep")
        .args(["-rl", &used])
        .arg(trees.folder.path())
        .output();
    assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "");
}

#[tokio::test]
async fn rejected_token_of_a_clone_is_minted_again() {
    let trees = trees(Some(true)).await;
    trees.open("first", "acme/app.git").await.unwrap();
    trees.fake.revoke_tokens();
    trees.open("second", "acme/app.git").await.unwrap();
    assert_eq!(trees.mints().len(), 2);
    trees.open("third", "acme/app.git").await.unwrap();
    assert_eq!(trees.mints().len(), 2, "the fresh token is cached");
}

/// Without a token git works anonymously, and the error names the reason.
#[tokio::test]
async fn clone_without_a_token_names_the_reason() {
    let trees = trees(Some(true)).await;
    let problem = trees.problem("t", "other/app.git").await;
    assert!(
        problem.contains("without a token") && problem.contains("installation"),
        "{problem}"
    );
    let used = trees
        .fake
        .seen()
        .into_iter()
        .filter(|seen| seen.target.contains("info/refs"));
    assert_eq!(used.filter_map(|seen| seen.token).count(), 0);
}

#[tokio::test]
async fn plain_token_clones_and_nothing_else_does() {
    let plain = trees(Some(false)).await;
    plain.open("t", "acme/app.git").await.unwrap();
    let without = trees(None).await;
    let problem = without.problem("t", "acme/app.git").await;
    assert!(!problem.contains("without a token"), "{problem}");
}
