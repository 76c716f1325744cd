//! The permitted dependencies between crates: the table of docs/ARCHITECTURE.md as code.
//!
//! A crate's folder decides which crates it may use. Dependencies of tests follow the same table, with the native
//! storage adapter and the test kit added. A crate of tests may use anything except other crates of tests, apart from
//! the one that runs Workers.

use crate::{Graph, Member, Violation};

/// Crates that shared logic may not use even indirectly: it runs on both platforms and does no I/O.
const BANNED_IN_SHARED: [&str; 7] = [
    "worker",
    "wasm-bindgen",
    "js-sys",
    "tokio",
    "axum",
    "reqwest",
    "rusqlite",
];
/// For tests only.
const TESTKIT: &str = "shared/testkit";
/// For tests of the daemon and of its users only.
const RESIDENT_TESTKIT: &str = "containers/resident/testkit";
/// For tests of the bot only.
const BOT_TESTKIT: &str = "containers/bot/testkit";
/// Starts Workers for tests.
const WORKERD: &str = "tests/workerd";
/// The native adapter of the storage port.
const SQL_NATIVE: &str = "shared/sql-native";
/// Vocabulary: everything may use it.
const L0: &str = "shared/types";
/// Contracts, independent of each other.
const L1: [&str; 4] = ["shared/wire", "shared/events", "shared/auth", "shared/sql"];
/// Code common to the stores, on top of the contracts it needs.
const STORE: &str = "shared/store";
/// The ports of the bot.
const PORTS: &str = "containers/bot/ports";
/// The tools of the bot's agents.
const TOOLS: &str = "containers/bot/tools";
/// The daemon of residents.
const SANDBOXD: &str = "containers/resident/sandboxd";
/// Decisions about an owned container.
const CONTAINER: &str = "shared/container";
/// Decisions about a proxied request. It lists the variables that reach a container.
const PROXY: &str = "shared/proxy";
/// Crate that native crates may not bring into a Worker.
const WORKER_ONLY: &str = "worker";

/// Reports dependencies in the wrong direction.
pub fn check(graph: &Graph) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in &graph.members {
        let from = member.folder.as_str();
        for to in &member.uses {
            if !may_use(from, to) {
                found.push(format!("{from} may not depend on {to}"));
            }
        }
        for to in &member.tests_use {
            if !may_use(from, to) && !may_test_with(from, to) {
                found.push(format!("the tests of {from} may not depend on {to}"));
            }
        }
        found.extend(
            banned(member)
                .map(|name| format!("{from} may not depend on {name}, not even indirectly")),
        );
    }
    found
}

fn may_use(from: &str, to: &str) -> bool {
    if to.starts_with("tests/") {
        return from.starts_with("tests/") && (to.starts_with(from) || to == WORKERD);
    }
    if [TESTKIT, RESIDENT_TESTKIT, BOT_TESTKIT].contains(&to) {
        return from.starts_with("tests/");
    }
    let parts: Vec<_> = from.split('/').collect();
    match parts.as_slice() {
        ["shared", "types"] => false,
        ["shared", "testkit"] => to.starts_with("shared/"),
        ["shared", "sql-native"] => to == "shared/sql" || to == L0,
        // The gate answers in error codes.
        ["shared", "auth"] => to == L0 || to == "shared/wire",
        ["shared", _] if L1.contains(&from) => to == L0,
        ["shared", "store"] => [L0, "shared/sql", "shared/wire", "shared/auth"].contains(&to),
        ["shared", "runs" | "codehost"] => is_l0_or_l1(to) || to == "shared/friction",
        ["shared", "proxy"] => is_l0_or_l1(to) || to == CONTAINER,
        // It drives the decisions of `shared/resident`.
        ["shared", "resident-engine"] => is_l0_or_l1(to) || to == "shared/resident",
        ["shared", _] => is_l0_or_l1(to),
        ["durable-objects", "platform"] => {
            ["shared/sql", "shared/wire", CONTAINER, STORE, L0].contains(&to)
        }
        // An object wraps logic of `shared/`, never another object.
        ["durable-objects", _] => {
            to == "durable-objects/platform" || (is_logic(to) && to != SQL_NATIVE)
        }
        // Its routes are those of the engine.
        ["workers", "resident"] => {
            to.starts_with("shared/resident")
                || ["durable-objects/platform", "durable-objects/resident"].contains(&to)
                || [L0, "shared/auth"].contains(&to)
        }
        ["workers", _] => {
            to.starts_with("durable-objects/")
                || [L0, "shared/wire", "shared/auth", STORE].contains(&to)
        }
        ["containers", "bot", "ports"] => is_logic(to) && to != SQL_NATIVE,
        // It implements ports only.
        ["containers", "bot", "testkit"] => to == PORTS || is_l0_or_l1(to),
        ["containers", "bot", "tools"] => to == PORTS || (is_logic(to) && to != SQL_NATIVE),
        ["containers", "bot", "core"] => {
            [PORTS, TOOLS].contains(&to) || (is_logic(to) && to != SQL_NATIVE)
        }
        // It also runs residents on its own machine.
        ["containers", "bot", "app"] => {
            to.starts_with("containers/bot/") || to == SANDBOXD || is_logic(to)
        }
        // It subscribes to facades and is independent of the bot's parts.
        ["containers", "bot", "telemetry"] => is_l0_or_l1(to),
        // An adapter implements a port: it depends neither on the life of a run nor on its tools.
        // Residents of this machine are one more place of working trees.
        ["containers", "bot", "adapters"] => {
            to == PORTS || to == SANDBOXD || to == "containers/resident/local" || is_logic(to)
        }
        ["containers", "bot", _] => {
            ["containers/bot/core", PORTS, TOOLS].contains(&to)
                || (is_logic(to) && to != SQL_NATIVE)
        }
        // It implements what the daemon's caller supplies.
        ["containers", "resident", "testkit"] => to == SANDBOXD,
        // The engine with the daemon in one process, without a part of the bot.
        ["containers", "resident", "local"] => to == SANDBOXD || is_logic(to),
        // It knows plans and the interface of their steps, and no part of the bot.
        ["containers", "resident", _] => is_logic(to) && to != SQL_NATIVE,
        // It uses the service from outside and shares vocabulary only, such as the token map and the names of a
        // container's variables.
        ["xtask"] => to.starts_with("xtask/") || is_l0_or_l1(to) || to == PROXY,
        // Containers are started for the edge runtime.
        ["xtask", "engine"] => to == "xtask/workerd",
        ["xtask", _] => false,
        ["tests", ..] => true,
        _ => false,
    }
}

/// Returns whether a crate's own tests may use another crate.
fn may_test_with(from: &str, to: &str) -> bool {
    match to {
        TESTKIT => true,
        RESIDENT_TESTKIT => from.starts_with("containers/resident/"),
        BOT_TESTKIT => from.starts_with("containers/bot/"),
        SQL_NATIVE => from.starts_with("shared/") || from.starts_with("containers/"),
        // Retries and tools are tested on the real adapters.
        "containers/bot/core" | TOOLS => from == "containers/bot/adapters",
        // A store, for example, is tested with the analyzer of the findings it stores.
        _ => {
            from.starts_with("shared/") && is_logic(to)
                || from.starts_with("containers/") && is_logic(to)
        }
    }
}

fn is_l0_or_l1(folder: &str) -> bool {
    folder == L0 || folder == STORE || L1.contains(&folder)
}

fn is_logic(folder: &str) -> bool {
    folder.starts_with("shared/") && folder != TESTKIT
}

fn banned(member: &Member) -> impl Iterator<Item = &str> {
    let from = member.folder.as_str();
    let is_native = from.starts_with("containers/") || from.starts_with("xtask");
    let is_pure = is_logic(from) && from != SQL_NATIVE;
    let names: &[&str] = match () {
        () if is_pure => &BANNED_IN_SHARED,
        () if is_native => &[WORKER_ONLY],
        () => &[],
    };
    names
        .iter()
        .copied()
        .filter(|name| member.foreign.contains(*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted;

    const FOLDERS: &str = "shared/types shared/wire shared/sql shared/store shared/runs shared/friction shared/agent \
        shared/container shared/proxy shared/sql-native shared/testkit durable-objects/platform durable-objects/stores \
        durable-objects/bot workers/state containers/bot/ports containers/bot/tools containers/bot/core \
        containers/bot/http containers/bot/adapters containers/bot/telemetry containers/bot/app containers/bot/testkit \
        containers/resident/sandboxd containers/resident/testkit tests/workerd xtask";

    fn breaches(from: &'static str, to: &'static str) -> Vec<Violation> {
        let uses = [to];
        let mut members: Vec<(&str, &[&str])> = vec![(from, &uses)];
        let others = FOLDERS.split(' ').filter(|folder| *folder != from);
        members.extend(others.map(|folder| (folder, &[] as &[&str])));
        check(&planted(&members))
    }

    #[test]
    fn wrong_directions_are_reported() {
        let wrong = [
            ("shared/types", "shared/wire"),
            ("shared/wire", "shared/sql"),
            ("shared/store", "shared/runs"),
            ("shared/sql", "shared/store"),
            ("shared/friction", "shared/runs"),
            ("shared/agent", "shared/runs"),
            ("shared/container", "shared/proxy"),
            ("shared/runs", "shared/sql-native"),
            ("shared/runs", "durable-objects/platform"),
            ("durable-objects/stores", "durable-objects/bot"),
            ("durable-objects/platform", "shared/runs"),
            ("workers/state", "containers/bot/core"),
            ("workers/state", "shared/runs"),
            ("containers/bot/ports", "containers/bot/core"),
            ("containers/bot/ports", "containers/bot/tools"),
            ("containers/bot/tools", "containers/bot/core"),
            ("containers/bot/adapters", "containers/bot/core"),
            ("containers/bot/adapters", "containers/bot/tools"),
            ("containers/bot/core", "containers/bot/adapters"),
            ("containers/bot/core", "shared/sql-native"),
            ("containers/bot/http", "containers/bot/adapters"),
            ("containers/bot/http", "containers/bot/app"),
            ("containers/bot/http", "shared/sql-native"),
            ("containers/bot/http", "containers/bot/telemetry"),
            ("containers/bot/core", "containers/bot/telemetry"),
            ("containers/bot/telemetry", "containers/bot/core"),
            ("containers/bot/telemetry", "shared/runs"),
            ("containers/bot/app", "shared/testkit"),
            ("containers/bot/app", "tests/workerd"),
            ("containers/bot/app", "durable-objects/platform"),
            ("containers/resident/sandboxd", "containers/bot/ports"),
            ("containers/bot/core", "containers/resident/sandboxd"),
            (
                "containers/resident/sandboxd",
                "containers/resident/testkit",
            ),
            ("containers/bot/app", "containers/bot/testkit"),
            ("containers/bot/testkit", "containers/bot/core"),
            ("containers/resident/testkit", "shared/testkit"),
            ("xtask", "containers/bot/app"),
        ];
        for (from, to) in wrong {
            assert_eq!(
                breaches(from, to),
                [format!("{from} may not depend on {to}")]
            );
        }
    }

    #[test]
    fn test_kit_is_for_tests_only() {
        let mut graph = planted(&[("containers/bot/http", &[]), ("shared/testkit", &[])]);
        graph.members[0].tests_use.insert("shared/testkit".into());
        assert!(check(&graph).is_empty());
        graph.members[0]
            .tests_use
            .insert("containers/bot/app".into());
        assert_eq!(check(&graph).len(), 1);
    }

    #[test]
    fn test_kit_of_residents_is_for_their_tests_only() {
        for (from, breaches) in [
            ("containers/resident/sandboxd", 0),
            ("containers/bot/core", 1),
        ] {
            let mut graph = planted(&[(from, &[]), (RESIDENT_TESTKIT, &[SANDBOXD])]);
            graph.members[0].tests_use.insert(RESIDENT_TESTKIT.into());
            assert_eq!(check(&graph).len(), breaches, "{from}");
        }
    }

    #[test]
    fn test_kit_of_the_bot_is_for_its_tests_only() {
        for (from, breaches) in [
            ("containers/bot/core", 0),
            ("containers/resident/sandboxd", 1),
        ] {
            let mut graph = planted(&[(from, &[]), (BOT_TESTKIT, &[PORTS])]);
            graph.members[0].tests_use.insert(BOT_TESTKIT.into());
            assert_eq!(check(&graph).len(), breaches, "{from}");
        }
    }

    #[test]
    fn platform_crate_in_shared_logic_is_reported() {
        assert_eq!(breaches("shared/agent", "tokio").len(), 1);
        assert_eq!(breaches("containers/bot/core", "worker").len(), 1);
        assert!(breaches("shared/sql-native", "rusqlite").is_empty());
        assert!(breaches("shared/agent", "serde").is_empty());
    }
}
