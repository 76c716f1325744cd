//! A misbehaving model: each attempt ends in a clear result, and the bot's memory stays bounded.
//!
//! Not here: what a shell command reaches (`sandbox.rs` in the workspace tests in
//! `containers/bot/adapters`).

use std::net::TcpListener;

use ars_testkit::{Block, Reply};
use ars_tests_drills::{Bot, Machine, answers, peak_bytes, results};
use serde_json::{Value, json};

use crate::{PROGRAM, kills::over};

/// Bytes in a flood.
const FLOOD: usize = 100_000_000;
/// Maximum memory that a flood may cost the bot: the output part that is kept, several times over.
const FLOOD_COST: u64 = 48 << 20;
/// A file outside every working tree.
const ESCAPED: &str = "escaped.txt";

type Attempt = (&'static str, Value, &'static str);

fn to_leave() -> Vec<Attempt> {
    vec![
        (
            "read_file",
            json!({ "path": "../../../../etc/passwd" }),
            "outside the workspace",
        ),
        (
            "read_file",
            json!({ "path": "/etc/passwd" }),
            "outside the workspace",
        ),
        (
            "read_file",
            json!({ "path": "link" }),
            "outside the workspace",
        ),
        (
            "read_file",
            json!({ "path": "root/etc/passwd" }),
            "outside the workspace",
        ),
        (
            "write_file",
            json!({ "path": format!("../{ESCAPED}"), "content": "x" }),
            "outside the workspace",
        ),
        (
            "write_file",
            json!({ "path": format!("up/{ESCAPED}"), "content": "x" }),
            "outside the workspace",
        ),
        (
            "edit_file",
            json!({ "path": "link", "old": "root", "new": "x" }),
            "outside the workspace",
        ),
        (
            "list_files",
            json!({ "path": ".." }),
            "outside the workspace",
        ),
        (
            "list_files",
            json!({ "path": "root" }),
            "outside the workspace",
        ),
        (
            "search",
            json!({ "pattern": "root", "path": "/etc" }),
            "outside the workspace",
        ),
        (
            "search",
            json!({ "pattern": "root", "path": "root/etc" }),
            "outside the workspace",
        ),
    ]
}

fn to_reach_inside(port: u16) -> Vec<Attempt> {
    let fetch = |url: String| ("web_fetch", json!({ "url": url }), "public internet");
    vec![
        fetch("http://169.254.169.254/latest/meta-data/".into()),
        fetch("http://metadata.google.internal/".into()),
        fetch(format!("http://localhost:{port}/")),
        fetch(format!("http://127.0.0.1:{port}/")),
        fetch(format!("http://[::1]:{port}/")),
        fetch(format!("http://[::ffff:127.0.0.1]:{port}/")),
        fetch(format!("http://2130706433:{port}/")),
        fetch(format!("http://0x7f.1:{port}/")),
        fetch("http://10.0.0.1/".into()),
        ("web_fetch", json!({ "url": "file:///etc/passwd" }), "http"),
        (
            "web_fetch",
            json!({ "url": "http://me:pw@example.com/" }),
            "http",
        ),
    ]
}

fn to_confuse() -> Vec<Attempt> {
    vec![
        ("format_disk", json!({ "disk": "sda" }), "no such tool"),
        ("bash", json!({ "command": 7 }), "command"),
        ("bash", json!({ "command": "true", "sudo": true }), "sudo"),
        ("read_file", json!({}), "path"),
    ]
}

async fn ask(bot: &Bot, text: &str) -> Value {
    let (status, answer) = bot.ask(&json!({ "text": text })).await.unwrap().unwrap();
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_outside_the_tree_are_rejected() {
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let port = inside.local_addr().unwrap().port();
    let attempts = move || {
        to_leave()
            .into_iter()
            .chain(to_reach_inside(port))
            .chain(to_confuse())
    };
    let machine = Machine::new(PROGRAM, move |body| match answers(body) {
        0 => Reply::tool(
            "bash",
            json!({ "command": "ln -s /etc/passwd link; ln -s / root; ln -s .. up" }),
        ),
        1 => {
            let calls = attempts().map(|(name, input, _)| Block::Tool {
                name: name.into(),
                input,
            });
            Reply::blocks(calls.collect())
        }
        2 => Reply::blocks(vec![Block::RawTool {
            name: "bash".into(),
            arguments: "{\"command\": ".into(),
        }]),
        _ => Reply::text("I give up."),
    })
    .await;
    let mut bot = machine.bot().await;
    ask(&bot, "be hostile").await;
    over(&machine).await;
    bot.terminate().await;

    let reported = results(&machine.vendor.requests().last().unwrap().body);
    assert_eq!(reported.len(), attempts().count() + 2, "{reported:#?}");
    let wrong: Vec<_> = attempts()
        .zip(&reported[1..])
        .filter(|((_, _, words), (is_error, said))| !is_error || !said.contains(words))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(reported.last().unwrap().0, "{reported:?}");
    assert!(
        inside.accept().is_err(),
        "a request reached a service of this machine"
    );
    assert!(!machine.path("data/workspaces").join(ESCAPED).exists());
    assert!(machine.path_in_tree(ESCAPED).is_none());
    assert!(
        reported.iter().all(|(_, said)| !said.contains("root:x:0")),
        "{reported:?}"
    );
    assert_eq!(machine.state.records()[0]["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_outputs_bound_the_memory() {
    let machine = Machine::new(PROGRAM, |body| {
        let bash = |command: String| Reply::tool("bash", json!({ "command": command }));
        match answers(body) {
            0 => bash("echo a small beginning".into()),
            1 => bash(format!("yes flood | head -c {FLOOD}")),
            2 => bash(format!("head -c {FLOOD} /dev/zero")),
            3 => bash(format!("head -c {FLOOD} /dev/urandom >&2")),
            4 => bash(format!(
                "head -c {FLOOD} /dev/zero | tr '\\0' x > one-line.txt"
            )),
            5 => Reply::tool("read_file", json!({ "path": "one-line.txt" })),
            6 => Reply::tool("search", json!({ "pattern": "x", "path": "one-line.txt" })),
            7 => Reply::tool("diff_digest", json!({})),
            _ => Reply::text("Enough."),
        }
    })
    .await;
    let mut bot = machine.bot().await;
    let before = peak_bytes(bot.pid());
    ask(&bot, "flood").await;
    over(&machine).await;
    let cost = peak_bytes(bot.pid()).saturating_sub(before);
    let page = bot.read("/runs").await;
    bot.terminate().await;

    let reported = results(&machine.vendor.requests().last().unwrap().body);
    let longest = reported.iter().map(|(_, said)| said.len()).max();
    assert!(
        longest.is_some_and(|bytes| bytes < 200_000),
        "{longest:?} bytes of a result reach the model"
    );
    assert_eq!(machine.state.records()[0]["status"], "completed");
    assert!(page.contains("</html>"), "the bot still answers");
    eprintln!("a flood of {FLOOD} bytes costs {} KiB", cost >> 10);
    assert!(cost < FLOOD_COST, "{} MiB for floods", cost >> 20);
}
