//! Tests the prompt's block about submodules, with real git.

use ars_bot_tools::submodules::block;

use crate::support::{git, must, world};

#[tokio::test]
async fn submodules_without_files_are_named() {
    let world = world();
    let origin = world.origin();
    let inner = origin.display().to_string();
    for path in ["vendor/größe", "vendor/other"] {
        git(
            &origin,
            &[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "add",
                "-q",
                &inner,
                path,
            ],
        );
    }
    git(&origin, &["commit", "-qm", "submodules"]);
    let tree = world.open_from("t", &origin).await.unwrap();
    let named = block(&*tree).await.unwrap();
    assert!(
        named.ends_with("<untrusted-text>\nvendor/größe\nvendor/other\n</untrusted-text>"),
        "{named}"
    );
    // As `git submodule update --init` does.
    must(&*tree, "git submodule --quiet init vendor/other").await;
    let named = block(&*tree).await.unwrap();
    assert!(
        named.contains("vendor/größe") && !named.contains("vendor/other"),
        "{named}"
    );
    must(&*tree, "git submodule --quiet init").await;
    assert_eq!(block(&*tree).await, None);
}
