//! `cargo xtask up` as a user meets it: demonstrates, serves, refuses, stops, leaves nothing behind.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail their test"
)]

mod chat;
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ars_engine::{Container, Engine};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Up, data, get, listens, post, status_of};

/// A request that the rehearsal knows.
const MEND: &str = "agent:coding repo:sample/tally The test suite fails. Mend it.";
/// The run pages' bearer, which the bot reads from its environment.
const VIEWED: &str = "[dashboard]\nauth = \"token\"\ntoken = { actor = \"access:viewer\" }\n";
/// That bearer's token.
const VIEWER: &str = "a-viewers-token-of-tests";

#[test]
fn service_demonstrates_and_serves_until_stopped() {
    let data = data();
    let mut up = Up::start(data.path(), &["--store", "embedded"]);
    let shown = up.output_until("Serving until Ctrl-C");
    for part in "REHEARSAL: no model is configured|▸ $ python3 -m unittest|✗ exit 1|\
        ▸ edit_file tally/split.py|[rehearsal] **Why it failed.**|\
        +    share, rest = divmod(total, len(people))|the run's page: http://127.0.0.1:|\
        Draft pull request #1: Hand out the remainder|check ars: success (1 passed, 0 failed)|\
        Review pull request sample/tally#1|▸ diff_digest|reviews posted on #1: 1|\
        │ LGTM: shares add up to the amount|bare repositories in|\
        export BOT=http://127.0.0.1:|curl -sS $BOT/ingress"
        .split('|')
    {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }

    let ready = up.ready();
    assert!(ready.get("state").is_none());
    let link = printed_link_opens_the_pages(&shown, &ready);
    let bot = ready["bot"]["url"].as_str().unwrap();
    let health = ureq::get(format!("{bot}/healthz"))
        .call()
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    assert!(health.contains(&ars_workerd::commit().unwrap()), "{health}");
    shows_its_sandbox(&shown, &health);
    let ask = |name: &str| {
        post(
            &format!("{bot}/ingress"),
            &ready["tokens"][name]["token"],
            &json!({"text": MEND, "thread": name}),
        )
    };
    let (status, answer) = ask("demo");
    assert_eq!(
        (status, &answer["run"]["status"]),
        (200, &json!("completed")),
        "{answer}"
    );
    assert_eq!(ask("reader").0, 403);
    pull_request_has_its_evidence(&ready);

    let (refused, why) = Up::start(data.path(), &["--store", "embedded", "--no-demo"]).end();
    assert!(
        !refused.success() && why.contains("is in use by another `cargo xtask up`"),
        "{why}"
    );
    assert!(
        listens(&ready["bot"]["url"]),
        "the refused one must leave the first alone"
    );

    let ready_file = up.ready_file();
    up.signal(Signal::TERM);
    let (status, said) = up.end();
    assert!(status.success(), "{said}");
    assert!(!listens(&ready["bot"]["url"]) && !ready_file.exists());
    // Neither the secret's address nor another token stays in the data directory.
    let log = fs::read_to_string(data.path().join("bot.log")).unwrap();
    assert!(log.contains("signed in") && !log.contains(&link), "{log}");
    assert!(!data.path().join("secrets.json").exists());
}

/// The start names the sandbox kind, and what is missing where it is not the whole sandbox.
fn shows_its_sandbox(shown: &str, health: &str) {
    let health: Value = serde_json::from_str(health).unwrap();
    let (kind, network) = (
        health["sandbox"].as_str().unwrap(),
        health["network"].as_str().unwrap(),
    );
    assert!(
        shown.contains(&format!("  sandbox   {kind}, network {network}\n")),
        "{shown}"
    );
    assert_eq!(
        shown.contains("skipped: bubblewrap: "),
        kind != "bubblewrap",
        "{shown}"
    );
}

/// The code host has two pull requests, one with a review, and serves a new folder at once.
fn pull_request_has_its_evidence(ready: &Value) {
    let host = &ready["codeHost"];
    let (url, root) = (
        host["git"].as_str().unwrap(),
        Path::new(host["root"].as_str().unwrap()),
    );
    let read = |path: &str| -> Value {
        serde_json::from_str(&get(&format!("{url}/api/v3{path}"), &[]).into_body()).unwrap()
    };
    let pulls = read("/repos/sample/tally/pulls");
    let [second, first] = pulls.as_array().unwrap().as_slice() else {
        panic!("{pulls}")
    };
    let run = first["head"]["ref"]
        .as_str()
        .unwrap()
        .split('/')
        .nth(1)
        .unwrap();
    let link = format!("{}/runs/{run}", ready["bot"]["url"].as_str().unwrap());
    let body = first["body"].as_str().unwrap();
    assert!(
        body.contains(&link) && body.contains("test passed: `python3 -m unittest`"),
        "{body}"
    );
    assert_eq!(
        (&first["draft"], &second["number"]),
        (&json!(true), &json!(2))
    );
    let reviews = read("/repos/sample/tally/pulls/1/reviews");
    assert_eq!(
        (reviews.as_array().unwrap().len(), &reviews[0]["state"]),
        (1, &json!("COMMENTED"))
    );
    assert_eq!(reviews[0]["commit_id"], first["head"]["sha"]);
    let page = get(first["html_url"].as_str().unwrap(), &[]).into_body();
    for part in [
        "── check ars: success",
        "── tally/split.py:8 by ars[bot]",
        "+    share, rest = divmod",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // Anyone may read, and only the service writes.
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.output().unwrap()
    };
    let sample = root.join("sample/tally.git").to_str().unwrap().to_owned();
    let own = root.join("acme/Widget.git").to_str().unwrap().to_owned();
    assert!(
        git(&["clone", "--quiet", "--bare", &sample, &own])
            .status
            .success()
    );
    let (listed, pushed) = (
        format!("{url}/acme/widget.git"),
        format!("{url}/sample/tally.git"),
    );
    assert!(
        String::from_utf8(git(&["ls-remote", &listed]).stdout)
            .unwrap()
            .contains("refs/heads/main")
    );
    assert!(
        !git(&["-C", &own, "push", "--quiet", &pushed, "main:other"])
            .status
            .success()
    );
}

/// The address signs in and leads to the clean address. Without the cookie the pages stay closed.
/// Returns the secret.
fn printed_link_opens_the_pages(shown: &str, ready: &Value) -> String {
    let link = shown
        .lines()
        .find_map(|line| line.trim().strip_prefix("runs "))
        .unwrap()
        .trim();
    let dashboard = &ready["bot"]["dashboard"];
    let (pages, token) = (
        dashboard["url"].as_str().unwrap(),
        dashboard["token"].as_str().unwrap(),
    );
    assert_eq!(
        (&dashboard["mode"], link.contains(token)),
        (&json!("token"), true),
        "{link}"
    );
    assert_eq!(get(pages, &[]).status(), 403);
    let signed_in = get(link, &[]);
    let location = signed_in.headers()["location"].to_str().unwrap();
    assert_eq!((signed_in.status().as_u16(), location), (303, "/runs"));
    let cookie = signed_in.headers()["set-cookie"]
        .to_str()
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    assert_eq!(get(pages, &[("cookie", cookie)]).status(), 200);
    assert_eq!(get(&link.replace(token, "0"), &[]).status(), 403);
    token.to_owned()
}

#[test]
fn records_survive_a_second_start() {
    let data = data();
    // The README's whole command: Worker, bot, demonstration.
    let mut up = Up::start(data.path(), &[]);
    let shown = up.output_until("Serving until Ctrl-C");
    assert!(
        shown.contains("[rehearsal] **Why it failed.**") && shown.contains("the run's page: "),
        "{shown}"
    );
    let ready = up.ready();
    let (bot, state) = (
        ready["bot"]["url"].as_str().unwrap(),
        ready["state"]["url"].as_str().unwrap(),
    );
    let asked = post(
        &format!("{bot}/ingress"),
        &ready["tokens"]["demo"]["token"],
        &json!({"text": MEND}),
    );
    assert_eq!(asked.0, 200, "{}", asked.1);
    let run = asked.1["run"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        post(&format!("{state}/runs/list"), &json!("wrong"), &json!({})).0,
        401
    );
    up.signal(Signal::INT);
    assert!(up.end().0.success());
    assert!(!listens(&ready["bot"]["url"]) && !listens(&ready["state"]["url"]));

    let mut up = Up::start(data.path(), &["--no-demo"]);
    let again = up.ready();
    for name in ["demo", "pinned", "reader"] {
        assert_eq!(again["tokens"][name], ready["tokens"][name]);
    }
    // It opens the run pages as well, so it lasts until the next start.
    assert_ne!(
        again["tokens"]["operator"]["token"],
        ready["tokens"]["operator"]["token"]
    );
    assert_eq!(again["state"]["token"], ready["state"]["token"]);
    let page = format!("{}/runs/{run}", again["bot"]["url"].as_str().unwrap());
    let secret = |ready: &Value| {
        format!(
            "Bearer {}",
            ready["bot"]["dashboard"]["token"].as_str().unwrap()
        )
    };
    let (old, new) = (secret(&ready), secret(&again));
    assert_eq!(
        get(&page, &[("authorization", &old)]).status(),
        403,
        "the secret is of one start"
    );
    let page = get(&page, &[("authorization", &new)]).into_body();
    assert!(page.contains("Mend it."), "{page}");

    let workerd = up.child_that_is("workerd");
    // A program without the permission to read hides its memory and environment from its user.
    let program = fs::metadata(format!("/proc/{}/exe", workerd.as_raw_nonzero())).unwrap();
    assert_eq!(program.permissions().mode() & 0o777, 0o111);
    // Without the Worker the bot answers and names the consequence.
    kill_process(workerd, Signal::KILL).unwrap();
    up.wait_until_said("The state Worker ended unexpectedly");
    let bot = again["bot"]["url"].as_str().unwrap();
    let asked = post(
        &format!("{bot}/ingress"),
        &ready["tokens"]["demo"]["token"],
        &json!({"text": "hello"}),
    );
    assert_eq!(asked.1["run"]["status"], "completed", "{}", asked.1);
    up.signal(Signal::INT);
    let (status, said) = up.end();
    assert!(status.success(), "{said}");
}

#[test]
fn service_runs_by_a_bot_in_a_container() {
    let data = data();
    let mut up = Up::start(data.path(), &["--containers"]);
    let shown = up.output_until("Serving until Ctrl-C");
    for part in [
        "REHEARSAL: no model is configured",
        "Where do you run",
        "[rehearsal]",
        "\"completed\"",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    let ready = up.ready();
    assert_eq!(
        ready["bot"]["url"], ready["edge"]["url"],
        "there is no other way to the bot"
    );
    let dashboard = &ready["bot"]["dashboard"];
    assert_eq!(
        dashboard["mode"], "token",
        "a caller in the container's network is never local"
    );
    let (pages, token) = (
        dashboard["url"].as_str().unwrap(),
        dashboard["token"].as_str().unwrap(),
    );
    assert_eq!(
        (status_of(pages, token), status_of(pages, "nobody")),
        (200, 403)
    );
    let (edge, state) = (
        ready["edge"]["url"].as_str().unwrap(),
        ready["state"]["url"].as_str().unwrap(),
    );
    let ask = |token: &Value| {
        post(
            &format!("{edge}/ingress"),
            token,
            &json!({"text": "Where do you run?"}),
        )
    };
    let (status, answer) = ask(&ready["tokens"]["demo"]["token"]);
    assert_eq!(
        (status, &answer["run"]["status"]),
        (200, &json!("completed")),
        "{answer}"
    );
    assert_eq!(ask(&json!("nobody")).0, 401);
    let run = json!({"storeKey": "runs:default", "id": answer["run"]["id"]});
    let (kept, record) = post(&format!("{state}/runs/get"), &ready["state"]["token"], &run);
    assert_eq!(
        (kept, &record["record"]["status"]),
        (200, &json!("completed")),
        "{record}"
    );

    let engine = Engine::ensure(&|line| eprintln!("{line}")).unwrap();
    another_beside_it_has_a_container_of_its_own(&engine, &ready);
    // The other left this bot's alone.
    assert_eq!(ask(&ready["tokens"]["demo"]["token"]).0, 200);
    assert!(matches!(containers(&engine, &ready).as_slice(), [bot] if bot.running));
    up.signal(Signal::INT);
    let (status, said) = up.end();
    assert!(status.success(), "{said}");
    assert_eq!(containers(&engine, &ready), [], "{said}");
    assert!(!listens(&ready["edge"]["url"]) && !listens(&ready["state"]["url"]));
}

/// While another serves on `first`, with another configuration.
fn another_beside_it_has_a_container_of_its_own(engine: &Engine, first: &Value) {
    let data = data();
    let config = data.path().join("own.toml");
    fs::write(&config, VIEWED).unwrap();
    let arguments = [
        "--containers",
        "--no-demo",
        "--config",
        config.to_str().unwrap(),
    ];
    let mut up = Up::start_with(data.path(), &arguments, |command| {
        command.env("DASHBOARD_TOKEN", VIEWER);
    });
    let ready = up.ready();
    let pages = format!("{}/runs", ready["edge"]["url"].as_str().unwrap());
    assert_eq!(
        (status_of(&pages, VIEWER), status_of(&pages, "nobody")),
        (200, 403)
    );
    // The second set-up may take minutes without a request or a tick to the first, and its
    // container may end. It runs again once it answers.
    assert_eq!(
        status_of(
            &format!("{}/healthz", first["edge"]["url"].as_str().unwrap()),
            "nobody"
        ),
        200
    );
    let [own, other] = [("this", &ready), ("the first", first)].map(|(whose, ready)| {
        let found = containers(engine, ready);
        let [bot] = found.as_slice() else {
            panic!(
                "{whose} has not one container: {found:?} of {:?}",
                engine.containers_named("workerd-ars-")
            )
        };
        assert!(bot.running, "{whose}: {bot:?}");
        bot.id.clone()
    });
    assert_ne!(own, other);
    up.signal(Signal::INT);
    let (status, said) = up.end();
    assert!(status.success(), "{said}");
    assert_eq!(containers(engine, &ready), []);
}

/// Returns a start's containers, found by their state Worker address, which no other has.
fn containers(engine: &Engine, ready: &Value) -> Vec<Container> {
    let port = ready["state"]["url"]
        .as_str()
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap()
        .trim_end_matches('/');
    let mut all = engine.containers_named("workerd-ars-bot-").unwrap();
    all.retain(|found| {
        // A process that has exited already is skipped.
        let inspected = engine.inspect(&found.id).unwrap_or_default();
        let env = inspected["Config"]["Env"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut lines = env
            .iter()
            .filter_map(|line| line.as_str()?.strip_prefix("STATE_WORKER_URL="));
        lines.any(|url| url.ends_with(&format!(":{port}")))
    });
    all
}

/// Returns the demonstration run that worked in a resident.
fn shown_in_a_resident(shown: &str) -> String {
    let mut rest = shown;
    for part in
        "── a warm environment|s  onboarding\n|s  onboarding  await-restores\n|s  onboarding  |s  warm\n|\
        ! resident · sample/tally · main@|✗ exit 1|▸ edit_file tally/split.py|git commit|\
        [rehearsal] **Why it failed.**|── its changes|+    share, rest = divmod|\
        Draft pull request #1: Hand out|check ars: success|reviews posted on #1: 1|the run's page: http://"
            .split('|')
    {
        let found = rest.split_once(part);
        rest = found.unwrap_or_else(|| panic!("{part:?} is missing or too early in:\n{shown}")).1;
    }
    let page = rest.lines().next().unwrap();
    page.rsplit('/').next().unwrap().to_owned()
}

/// The stream and record of a run in a resident.
fn run_is_recorded(ready: &Value, run: &str) {
    let bearer = format!(
        "Bearer {}",
        ready["bot"]["dashboard"]["token"].as_str().unwrap()
    );
    let events = format!(
        "{}/runs/{run}/events",
        ready["bot"]["url"].as_str().unwrap()
    );
    let events = get(&events, &[("authorization", &bearer)]).into_body();
    let meta = events
        .lines()
        .find(|line| line.contains("\"type\":\"run_meta\""))
        .unwrap();
    assert!(meta.contains("\"tree\":\"resident\""), "{meta}");
    let stored = format!("{}/runs/get", ready["state"]["url"].as_str().unwrap());
    let wanted = json!({ "storeKey": "runs:default", "id": run });
    let record = post(&stored, &ready["state"]["token"], &wanted).1;
    assert_eq!(record["record"]["status"], "completed", "{record}");
}

/// The bot's container has no git, so the resident performs each tree operation.
#[test]
fn resident_is_used_by_a_bot_in_a_container() {
    let data = data();
    let mut up = Up::start(data.path(), &["--containers", "--residents"]);
    let shown = up.output_until("Serving until Ctrl-C");
    let ready = up.ready();
    assert_eq!(
        ready["bot"]["url"], ready["edge"]["url"],
        "there is no other way to the bot"
    );
    let run = shown_in_a_resident(&shown);
    run_is_recorded(&ready, &run);
    let api = format!(
        "{}/api/v3/repos/sample/tally/pulls",
        ready["codeHost"]["git"].as_str().unwrap()
    );
    let read = |path: &str| -> Value {
        serde_json::from_str(&get(&format!("{api}{path}"), &[]).into_body()).unwrap()
    };
    let pull = read("/1");
    let link = format!("{}/runs/{run}", ready["edge"]["url"].as_str().unwrap());
    assert!(
        pull["draft"] == true && pull["body"].as_str().unwrap().contains(&link),
        "{pull}"
    );
    let reviews = read("/1/reviews");
    assert_eq!(
        (reviews.as_array().unwrap().len(), &reviews[0]["state"]),
        (1, &json!("COMMENTED"))
    );
    assert_eq!(reviews[0]["commit_id"], pull["head"]["sha"]);

    let engine = Engine::ensure(&|line| eprintln!("{line}")).unwrap();
    assert!(matches!(containers(&engine, &ready).as_slice(), [bot] if bot.running));
    up.signal(Signal::INT);
    let (status, said) = up.end();
    assert!(
        status.success() && !listens(&ready["resident"]["url"]),
        "{said}"
    );
    assert_eq!(containers(&engine, &ready), [], "{said}");
}

/// The demonstration works in a resident, and a folder on the code host is onboarded at once.
#[test]
fn demonstration_runs_in_a_resident() {
    let data = data();
    let mut up = Up::start(data.path(), &["--residents"]);
    let shown = up.output_until("Serving until Ctrl-C");
    let ready = up.ready();
    run_is_recorded(&ready, &shown_in_a_resident(&shown));

    let (fleet, host) = (&ready["resident"], &ready["codeHost"]);
    let (url, tokens) = (fleet["url"].as_str().unwrap(), &fleet["tokens"]);
    assert_eq!(
        status_of(
            &format!("{url}/residents"),
            tokens["read"].as_str().unwrap()
        ),
        200
    );
    let root = Path::new(host["root"].as_str().unwrap());
    let (sample, own) = (root.join("sample/tally.git"), root.join("acme/widget.git"));
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--bare"])
        .args([sample, own])
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.status().unwrap().success());
    let commands = json!({ "build": "true", "test": "true" });
    let onboarding =
        json!({ "resource": "repo:acme/widget", "commands": commands, "defaultRef": "main" });
    let onboard = |scope: &str| post(&format!("{url}/onboard"), &tokens[scope], &onboarding);
    assert_eq!(onboard("operator").0, 401, "only administrators onboard");
    let (status, answer) = onboard("admin");
    assert_eq!(
        (status, &answer["warning"]),
        (202, &Value::Null),
        "{answer}"
    );
    let bearer = format!("Bearer {}", tokens["operator"].as_str().unwrap());
    let status = format!("{url}/status?resource=repo:acme/widget");
    let state = || get(&status, &[("authorization", &bearer)]).into_body();
    support::wait_until(|| !state().contains("\"onboarding\""));
    assert!(state().contains("\"warm\""), "{}", state());

    work_survives_a_restart(data.path(), up, &ready);
}

/// The final snapshot has the work in trees that no bot run released.
fn work_survives_a_restart(data: &Path, up: Up, ready: &Value) {
    let call = |ready: &Value, path: &str, thread: &str, more: &Value| {
        let mut body = json!({ "resource": "repo:sample/tally", "threadKey": thread });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let url = format!("{}{path}", ready["resident"]["url"].as_str().unwrap());
        let (status, answer) = post(&url, &ready["resident"]["tokens"]["operator"], &body);
        assert!(
            status == 200 && answer["error"].is_null(),
            "{path}: {status} {answer}"
        );
        answer
    };
    let at_main = json!({ "refHint": "main" });
    for thread in ["test:saved", "test:open"] {
        call(ready, "/attach", thread, &at_main);
        call(
            ready,
            "/exec",
            thread,
            &json!({ "command": "echo kept > note" }),
        );
    }
    let run = json!({ "run": "a-run" });
    call(ready, "/checkpoint", "test:saved", &run);
    up.signal(Signal::INT);
    let (status, said) = up.end();
    assert!(
        status.success() && !listens(&ready["resident"]["url"]),
        "{said}"
    );
    assert!(
        said.contains("checkpoints are in the snapshots of 1"),
        "{said}"
    );

    let mut up = Up::start(data, &["--residents", "--no-demo"]);
    let ready = up.ready();
    call(&ready, "/attach", "test:saved", &at_main);
    call(&ready, "/restore", "test:saved", &run);
    let note = call(
        &ready,
        "/exec",
        "test:saved",
        &json!({ "command": "cat note" }),
    );
    assert_eq!(note["stdout"], "kept\n", "{note}");
    let fleet = &ready["resident"];
    let bearer = format!("Bearer {}", fleet["tokens"]["read"].as_str().unwrap());
    let listed = get(
        &format!("{}/residents", fleet["url"].as_str().unwrap()),
        &[("authorization", &bearer)],
    );
    let listed: Value = serde_json::from_str(listed.body()).unwrap();
    let rows = listed["residents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one["live"]["threads"].as_array().unwrap());
    let open = rows
        .into_iter()
        .find(|row| row["threadKey"] == "test:open")
        .unwrap();
    assert!(
        open["evicted"] == true && open["checkpoint"].is_string(),
        "{open}"
    );
    up.signal(Signal::INT);
    assert!(up.end().0.success());
}

#[test]
fn dead_bot_fails_the_command() {
    let data = data();
    let mut up = Up::start(data.path(), &["--store", "embedded", "--no-demo"]);
    up.ready();
    kill_process(up.child_that_is("ars"), Signal::KILL).unwrap();
    let (status, said) = up.end();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("the bot ended unexpectedly"), "{said}");
}

#[test]
fn leftovers_of_a_killed_start_are_ended() {
    let data = data();
    let mut killed = Up::start(data.path(), &["--store", "embedded", "--no-demo"]);
    let before = killed.ready();
    let left = ["ars", "rehearsal_host"].map(|name| killed.child_that_is(name));
    killed.signal(Signal::KILL);
    assert!(!killed.end().0.success());
    assert!(listens(&before["bot"]["url"]), "the bot was left behind");
    let mut next = Up::start(data.path(), &["--store", "embedded", "--no-demo"]);
    let ready = next.ready();
    for pid in left {
        assert!(!is_alive(pid), "{pid:?}");
    }
    let addresses = |ready: &Value| (ready["bot"]["url"].clone(), ready["codeHost"].clone());
    assert_eq!(
        addresses(&ready),
        addresses(&before),
        "stored links stay valid"
    );
    next.signal(Signal::INT);
    assert!(next.end().1.contains("left behind"));
}

#[test]
fn configured_code_host_replaces_the_rehearsal() {
    let data = data();
    let mut up = Up::start_with(
        data.path(),
        &["--store", "embedded", "--no-demo"],
        |command| {
            command
                .env("GH_TOKEN", "a-token")
                .env("GITHUB_BASE_URL", "http://127.0.0.1:9");
        },
    );
    assert_eq!(up.ready()["codeHost"], Value::Null);
    up.signal(Signal::INT);
    assert!(up.end().0.success());
    let config = fs::read_to_string(data.path().join("ars.toml")).unwrap();
    let sample = data.path().canonicalize().unwrap().join("sample/tally");
    assert!(
        config.contains(&format!("origin = \"{}\"", sample.display())),
        "{config}"
    );
}

#[test]
fn embedded_store_needs_no_node() {
    let (data, shims) = (data(), data());
    let tools = ["node", "npm", "npx", "wasm-bindgen"];
    let path = tools.map(|tool| shim(shims.path(), tool, "touch called; exit 1"))[0].clone();
    let own = r#"{"own-token":{"subject":"ann","channel":"ops"}}"#;
    let mut up = Up::start_with(
        data.path(),
        &["--store", "embedded", "--no-demo"],
        |command| {
            command.env("PATH", path).env("SERVICE_INGRESS_TOKENS", own);
        },
    );
    let expected = json!({"ann": {"token": "own-token", "subject": "ann", "channel": "ops", "scopes": ["dispatch"]}});
    assert_eq!(up.ready()["tokens"], expected);
    up.signal(Signal::INT);
    assert!(up.end().0.success());
    assert!(!shims.path().join("called").exists());
}

#[test]
fn signal_during_set_up_ends_the_tools() {
    let (data, shims) = (data(), data());
    // A build that never ends.
    let path = shim(
        shims.path(),
        "cargo",
        "mkfifo never; echo building >&2; read _ < never",
    );
    let up = Up::start_with(data.path(), &["--store", "embedded"], |command| {
        command.env("PATH", path);
    });
    let building = up.child_that_is("cargo");
    up.signal(Signal::TERM);
    let (status, said) = up.end();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(!is_alive(building), "the build was left running");
}

/// A process that was killed but not waited for has no command line any more.
fn is_alive(pid: Pid) -> bool {
    fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).is_ok_and(|line| !line.is_empty())
}

/// Puts a script before a tool with that name; returns the PATH on which it is found.
fn shim(folder: &Path, tool: &str, script: &str) -> String {
    let place = folder.join(tool);
    fs::write(
        &place,
        format!("#!/bin/sh\ncd {}\n{script}\n", folder.display()),
    )
    .unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}
