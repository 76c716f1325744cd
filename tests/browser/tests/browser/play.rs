//! Runs that tests play on a page: single events, and a coding run with every page element.

use ars_bot_core::registry::RunHandle;
use ars_events::{EventBody, NoteKind};
use serde_json::json;

use super::support::{Bot, say};

pub fn ask(run: &RunHandle, text: &str) {
    run.publish(EventBody::Input {
        text: text.into(),
        attachments: Vec::new(),
        source: None,
    });
}

pub fn meta(run: &RunHandle, model: &str) {
    run.publish(EventBody::RunMeta {
        agent: "coding".into(),
        model: Some(model.into()),
        effort: Some("high".into()),
        trace_id: None,
        repo: Some("acme/app".into()),
        git_ref: Some("main".into()),
        head_sha: Some("8f2b1c94d0aa7e".into()),
        pr: None,
        sandbox: None,
        sandbox_skipped: None,
        network: None,
        cgroup: None,
        tree: None,
    });
}

pub fn call(run: &RunHandle, tool: &str, id: &str, summary: &str) {
    run.publish(EventBody::ToolCall {
        tool: tool.into(),
        summary: summary.into(),
        call_id: Some(id.into()),
        command: summary.strip_prefix("$ ").map(str::to_owned),
    });
}

pub fn result(run: &RunHandle, tool: &str, id: &str, exit: Option<i64>, output: &str) {
    run.publish(EventBody::ToolResult {
        tool: tool.into(),
        ok: exit.unwrap_or(0) == 0,
        summary: ars_events::result_summary(output),
        call_id: Some(id.into()),
        exit_code: exit,
        output: Some(output.into()),
        infra: None,
    });
}

pub fn turn(bot: &Bot, run: &RunHandle, ms: i64, tokens: u64) {
    let span = |name: &str| (name.to_owned(), "s1".to_owned());
    let (name, span_id) = span("model.turn");
    run.publish(EventBody::SpanStart {
        span_id: span_id.clone(),
        parent_span_id: None,
        name: name.clone(),
        attrs: None,
    });
    bot.clock.advance(ms);
    let usage = json!({"usage": {"inputTokens": tokens, "outputTokens": tokens / 20, "cacheReadTokens": tokens * 4}});
    run.publish(EventBody::SpanEnd {
        span_id,
        parent_span_id: None,
        name,
        attrs: usage.as_object().cloned(),
        started_at: 0,
        duration_ms: ms,
        status: ars_events::SpanStatus::Ok,
        error: None,
    });
}

pub const ANSWER: &str = "## What was wrong

`add` in `src/lib.rs` subtracted **instead of adding**, so `adds_two` failed.

## What I changed

1. `src/lib.rs`: the operator, one character
   - nothing else in the module was touched
2. A test for *negative* numbers

```rust
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}
```

| Test | Before | After |
|---|---|---|
| `adds_two` | failed | passed |
| `adds_negative` | – | passed |

> All 14 tests pass now.

See https://doc.rust-lang.org/std/ops/trait.Add.html for the trait.";

/// Plays a coding run with every page element.
pub fn play(bot: &Bot, run: &RunHandle, model: &str) {
    ask(
        run,
        "The test suite of the calculator fails since yesterday. Find out why, fix it,\nand add a test for negative numbers.",
    );
    run.publish(EventBody::Context {
        text: "user: please look at the calculator".into(),
    });
    run.publish(EventBody::Context {
        text: "assistant: Which part of it?".into(),
    });
    meta(run, model);
    turn(bot, run, 1300, 2400);
    say(
        run,
        "I will run the tests first to see **which** one fails.",
    );
    call(run, "bash", "c1", "$ cargo test --quiet 2>&1 | tail -40");
    bot.clock.advance(4210);
    result(
        run,
        "bash",
        "c1",
        Some(101),
        "exit 101:\nrunning 13 tests\n............F\nfailures:\n\n---- adds_two stdout ----\nassertion `left == right` failed\n  left: 0\n right: 4\n",
    );
    turn(bot, run, 900, 3100);
    say(
        run,
        "`adds_two` fails: the result is 0 where it should be 4. Reading the function and its callers.",
    );
    call(run, "read_file", "c2", "read_file src/lib.rs");
    call(run, "search", "c3", "search add\\( in src");
    bot.clock.advance(18);
    result(
        run,
        "read_file",
        "c2",
        None,
        "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n",
    );
    result(
        run,
        "search",
        "c3",
        None,
        "src/lib.rs:1: pub fn add(a: i64, b: i64) -> i64 {\nsrc/main.rs:9:     println!(\"{}\", add(2, 2));",
    );
    turn(bot, run, 1100, 3600);
    call(run, "edit_file", "c4", "edit_file src/lib.rs");
    bot.clock.advance(7);
    result(run, "edit_file", "c4", None, "replaced 1 occurrence");
    run.publish(EventBody::note(
        NoteKind::WrapUp,
        "Time is running out; the agent was told to wrap up",
    ));
}
