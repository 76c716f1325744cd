//! Measures checkpoints in a local tree and in resident trees.

use std::{sync::Arc, time::Instant};

use ars_bot_adapters::workspace::GitWorkspaces;
use ars_bot_ports::{
    OpenFor, Repository, Residents, ResidentsError, Workspace, WorkspaceProvider as _,
    WorkspaceRequest,
};
use ars_types::{RunId, ThreadKey};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    origin::Origin,
    samples::Samples,
    threads::{Attached, request},
};

/// How often each local tree checkpoint is repeated.
const REPETITIONS: usize = 10;

/// Checkpoints in a resident's tree, with the text written before each.
pub const SAVES: [(&str, Option<&str>); 3] = [
    ("first checkpoint", Some("one\n")),
    ("checkpoint", Some("two\n")),
    ("checkpoint, same", None),
];

/// Writes a file in a thread's tree on the resident, with content that no other thread has.
pub async fn write(residents: &dyn Residents, thread: &str, content: &str) {
    let content = format!("{thread}: {content}");
    let body =
        request(&json!({"threadKey": thread, "path": "notes/saved.txt", "content": content}));
    residents
        .write(&body, &CancellationToken::new())
        .await
        .unwrap();
}

/// Saves a thread's tree on the resident.
pub async fn checkpoint(
    residents: &dyn Residents,
    thread: &str,
) -> Result<Attached, ResidentsError> {
    let run = thread.replace([':', '.'], "-");
    let body = request(&json!({"threadKey": thread, "run": run}));
    residents
        .checkpoint(&body, &CancellationToken::new())
        .await
        .map(|_| Attached::Yes)
}

/// Measures local tree checkpoints: the first, with a changed file, and without a change.
pub async fn local(trees: &Arc<GitWorkspaces>, origin: &Origin) {
    let thread = ThreadKey::cli("tree");
    let repository = Repository {
        name: "bench/app".to_owned(),
        origin: origin.path.display().to_string(),
    };
    let request = WorkspaceRequest {
        repository: Some(&repository),
        purpose: OpenFor::Run,
        ..WorkspaceRequest::for_thread(&thread)
    };
    let tree = trees
        .open(request, &CancellationToken::new())
        .await
        .unwrap();
    let [mut first, mut changed, mut same] = [(); 3].map(|()| Samples::default());
    save(&*tree, Some(0), &mut first).await;
    for number in 1..=REPETITIONS {
        save(&*tree, Some(number), &mut changed).await;
        save(&*tree, None, &mut same).await;
    }
    first.print(0, "local first checkpoint");
    changed.print(0, "local checkpoint");
    same.print(0, "local checkpoint, same");
}

/// Changes a file, if there is a number, and saves the tree.
async fn save(tree: &dyn Workspace, change: Option<usize>, samples: &mut Samples) {
    if let Some(number) = change {
        tree.write("src/0/0.txt", format!("change {number}\n").as_bytes())
            .await
            .unwrap();
    }
    let start = Instant::now();
    let saved = tree
        .checkpoint(&RunId::parse("bench").unwrap(), &CancellationToken::new())
        .await
        .unwrap();
    samples.add(start.elapsed());
    assert_eq!(saved.unwrap().is_new, change.is_some());
}
