//! The rehearsal workspace for `cargo xtask up --slack`: a fake Slack as a process, with a page.
//!
//! `rehearsal_slack serve ADDRESS` prints a single line, JSON with the API's base, the tokens and
//! the page's link, and serves until its standard input ends. Each start makes new tokens and a key.
#![expect(clippy::expect_used, reason = "a failure of a test tool ends it")]

use ars_testkit::slack::FakeSlack;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    assert_eq!(
        arguments.next().as_deref(),
        Some("serve"),
        "usage: rehearsal_slack serve ADDRESS"
    );
    let address = arguments.next().expect("the address to listen on");
    let listener = TcpListener::bind(&address).await;
    let slack = FakeSlack::rehearse(listener.expect("the address is free"));
    println!(
        "{}",
        json!({
            "url": slack.url(), "botToken": slack.bot_token(), "appToken": slack.app_token(), "page": slack.page(),
        })
    );
    // It ends with the process that started it, however that ends.
    let until_end = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let _ = tokio::task::spawn_blocking(until_end).await;
}
