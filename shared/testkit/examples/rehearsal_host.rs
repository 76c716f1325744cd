//! The rehearsal host for `cargo xtask up`: a code host process on a folder of bare repositories.
//!
//! `rehearsal_host serve ROOT ADDRESS` prints a single line, JSON with the base address and the
//! app, and serves until it is killed. Each start makes a new app key.
#![expect(clippy::expect_used, reason = "a failure of a test tool ends it")]

use std::path::PathBuf;

use ars_testkit::github::FakeGitHub;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    assert_eq!(
        arguments.next().as_deref(),
        Some("serve"),
        "usage: rehearsal_host serve ROOT ADDRESS"
    );
    let root = PathBuf::from(arguments.next().expect("the folder of repositories"));
    let address = arguments.next().expect("the address to listen on");
    let listener = TcpListener::bind(&address)
        .await
        .expect("the address is free");
    let host = FakeGitHub::serve(listener, &root).expect("the folder of repositories is readable");
    let app = host.app();
    println!(
        "{}",
        json!({
            "url": host.url(), "appId": app.id, "installation": app.installation.to_string(),
            "privateKey": app.private_key,
        })
    );
    std::future::pending::<()>().await;
}
