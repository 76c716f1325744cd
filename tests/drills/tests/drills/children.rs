//! A bot's child processes end with it, by any death, before another process reclaims its runs.

use ars_testkit::Reply;
use ars_tests_drills::{Machine, answers, below, is_alive, until};
use rustix::process::Signal;
use serde_json::json;

use crate::PROGRAM;

/// Starts child processes and waits forever. Ignores every signal but SIGKILL, as they do.
const STAYING: &str = "trap '' TERM INT HUP; (sleep 600; echo late > late) & (trap '' HUP; sleep 600) & touch begun; wait";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_end_with_a_killed_bot() {
    let machine = Machine::new(PROGRAM, |body| match answers(body) {
        0 => Reply::tool("bash", json!({ "command": STAYING })),
        _ => Reply::text("Done."),
    })
    .await;
    let mut bot = machine.bot().await;
    let asked = bot.ask(&json!({ "text": "stay", "async": true }));
    asked.await.unwrap().unwrap();
    until("the command runs", || {
        machine.path_in_tree("begun").is_some()
    })
    .await;
    let sleepers = || {
        below(bot.pid())
            .iter()
            .filter(|child| child.arguments.starts_with("sleep 600"))
            .count()
    };
    until("what it started runs too", || sleepers() == 2).await;

    let children = below(bot.pid());
    bot.signal(Signal::KILL);
    bot.ended().await;
    until("everything below the bot is gone", || {
        !children.iter().any(|child| is_alive(child.pid))
    })
    .await;
}
