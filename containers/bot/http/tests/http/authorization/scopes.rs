//! Each scope alone: the commands, agents and routes that it opens, and that it opens no other.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use ars_auth::policy::ROWS;
use ars_commands::Surface;
use aws_lc_rs::{rsa::KeySize, signature::RsaKeyPair};
use reqwest::Method;
use serde_json::json;

use super::{
    callers::{
        AGENTS,
        Credential::{self, Bearer, Header},
        send, with_scope,
    },
    commands::{self, api, chat, letter, mcp},
    routes::{self, status},
};
use crate::support::Bot;

/// A scope and what it opens.
struct Row {
    scope: &'static str,
    commands: &'static [&'static str],
    agents: &'static [&'static str],
    /// Route table requests by method and path, with their status. The caller is a token or a
    /// person with this scope. Every other request has the status that the table gives a token
    /// without scopes or a person without grants.
    routes: &'static [(&'static str, u16)],
}

const fn opens(scope: &'static str, commands: &'static [&'static str]) -> Row {
    Row {
        scope,
        commands,
        agents: &[],
        routes: &[],
    }
}

const fn runs(scope: &'static str, agents: &'static [&'static str]) -> Row {
    Row {
        scope,
        commands: &[],
        agents,
        routes: &[],
    }
}

impl Row {
    const fn with_routes(self, routes: &'static [(&'static str, u16)]) -> Self {
        Self { routes, ..self }
    }
}

const CHANGES: &[&str] = &["config.set", "config.clear", "config.instructions"];
const RESIDENTS: &[&str] = &[
    "repo.onboard",
    "repo.offboard",
    "repo.reconfigure",
    "repo.rebuild",
];
const OPERATIONS: &[&str] = &["repo.test", "repo.build"];
/// The run has ended.
const ENDED: u16 = 409;

const TABLE: &[Row] = &[
    opens("dispatch", &[]).with_routes(&[("POST /ingress", 200)]),
    runs("agent:run:general", &["general"]),
    // Who may run the coding agent may run operations without it.
    Row {
        commands: OPERATIONS,
        ..runs("agent:run:coding", &["coding"])
    },
    runs("agent:run:review", &["review"]),
    runs("agent:run:research", &["research"]),
    Row {
        commands: OPERATIONS,
        ..runs("agent:run:*", &AGENTS)
    },
    opens("help:read", &["help.show"]),
    opens("help:write", &[]),
    opens("status:read", &["status.show"]),
    opens("status:write", &[]),
    opens("config:read", &["config.show"]),
    opens("config:write", CHANGES),
    opens(
        "runs:read",
        &[
            "runs.list",
            "runs.get",
            "runs.events",
            "runs.friction",
            "runs.outcomes",
        ],
    ),
    // Only a live run is steered, with its token.
    opens("runs:write", &["runs.stop", "runs.restore"])
        .with_routes(&[("POST /runs/http-ci/stop?mode=soft", ENDED)]),
    opens("review:read", &[]),
    opens("review:write", &["review.abridge"]),
    opens("memory:read", &["memory.list"]),
    // A shared record also needs `repo:write`.
    opens("memory:write", &[]),
    opens("friction:read", &["friction.report", "friction.analyze"]),
    opens("friction:write", &["friction.propose"]),
    opens("schedule:read", &["schedule.list"]),
    opens("schedule:write", &[]),
    opens("repo:read", &["repo.list"]),
    opens("repo:write", RESIDENTS),
    opens("repo:exec", OPERATIONS),
    opens("deploy:write", &[]).with_routes(&[
        ("POST /admin/crash", 202),
        ("POST /admin/restart/authorize", 200),
    ]),
    // Their subsystems are absent.
    opens("deploy:read", &[]),
    opens("repo:use", &[]),
    opens("issue:write", &[]),
    opens("mcp:read", &[]),
    opens("mcp:write", &[]),
    opens("env:read", &[]),
    opens("env:write", &[]),
    // Only firing a schedule has this action, and no scope gives it.
    opens("schedule:fire", &[]),
    // Scopes have no wildcards, groups or other spellings.
    opens("*", &[]),
    opens("runs:*", &[]),
    opens("runs", &[]),
    opens("RUNS:READ", &[]),
    runs("agent:run", &[]),
    runs("agent:*", &[]),
    runs("coding", &[]),
];

/// The policy's actions, where the agents' action has a scope for each agent and a scope for all.
#[test]
fn every_action_has_a_row() {
    let rows: BTreeSet<&str> = TABLE.iter().map(|row| row.scope).collect();
    let actions = ROWS
        .iter()
        .flat_map(|row| row.actions)
        .filter(|action| **action != "agent:run");
    let agents = AGENTS
        .iter()
        .chain(&["*"])
        .map(|agent| format!("agent:run:{agent}"));
    for scope in actions
        .map(|action| (*action).to_owned())
        .chain(agents)
        .chain(["dispatch".to_owned()])
    {
        assert!(rows.contains(&*scope), "{scope}");
    }
}

/// Compares each row with the responses from a bot that gives its callers the scope.
async fn compare<F: Future<Output = Vec<String>>>(
    found: impl Fn(&'static Row, Bot, [Credential; 2]) -> F,
) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let mut wrong = Vec::new();
    for row in TABLE {
        let (bot, assertions) = with_scope(&pair, row.scope).await;
        let by_access = |assertion| Header("cf-access-jwt-assertion", assertion);
        let lines = found(
            row,
            bot,
            [by_access(assertions.service), by_access(assertions.person)],
        )
        .await;
        wrong.extend(
            lines
                .into_iter()
                .map(|line| format!("{}: {line}", row.scope)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The service has the scope through grants, the tokens through scopes. The other table has the
/// letter for a caller with every scope, in the column before `other`, or last for `/api`.
#[tokio::test]
async fn scope_opens_its_commands_alone() {
    compare(async |row, bot, [service, _]| {
        let mut wrong = Vec::new();
        for command in commands::TABLE {
            let is_open = row.commands.contains(&command.id);
            let expected = |letters: &str, at: usize| match letters.chars().nth(at).unwrap() {
                '-' => '-',
                letter if is_open => letter,
                _ => 'd',
            };
            let answers = [
                (
                    Surface::Api,
                    api(&bot, &service, command, "http-ci").await,
                    expected(command.api, 6),
                ),
                (
                    Surface::Mcp,
                    mcp(&bot, &Bearer("alone"), command, "mcp-ci").await,
                    expected(command.mcp, 5),
                ),
                (
                    Surface::Chat,
                    chat(&bot, &Bearer("sender"), command, "http-ci").await,
                    expected(command.chat, 5),
                ),
            ];
            for (surface, answer, expected) in answers {
                // A message that is no command is for a model.
                let found = letter(surface, &answer);
                if found != expected && !(surface == Surface::Chat && expected == '-') {
                    wrong.push(format!(
                        "{} by {surface:?}: {found}, not {expected}",
                        command.id
                    ));
                }
            }
        }
        wrong
    })
    .await;
}

#[tokio::test]
async fn scope_opens_its_routes_alone() {
    compare(async |row, bot, [_, person]| {
        let mut wrong = Vec::new();
        for request in routes::rows() {
            let name = format!("{} {}", request.method, request.path);
            let open = row
                .routes
                .iter()
                .find(|(open, _)| *open == name)
                .map(|(_, status)| *status);
            let is_for_tokens = request.callers[0] == 401;
            let (credential, closed) = match is_for_tokens {
                true => (&Bearer("alone"), request.callers[2]),
                false => (&person, request.modes[3]),
            };
            let found = status(&bot, credential, &request).await;
            let expected = open.unwrap_or(closed);
            if found != expected {
                wrong.push(format!("{name}: {found}, not {expected}"));
            }
        }
        wrong
    })
    .await;
}

/// Every agent is restricted here. MCP's tool `dispatch` needs the scope with that name, as
/// `/ingress` does.
#[tokio::test]
async fn scope_opens_its_agents_alone() {
    compare(async |row, bot, _| {
        let mut wrong = Vec::new();
        for agent in AGENTS {
            let body = json!({"text": format!("agent:{agent} hi"), "thread": agent, "history": []});
            let answer = send(
                &bot,
                &Bearer("sender"),
                Method::POST,
                "/ingress",
                Some(&body),
            )
            .await;
            let is_denied = answer
                .body
                .contains(&format!("you may not run the {agent} agent"));
            if answer.status != 200 || is_denied == row.agents.contains(&agent) {
                wrong.push(format!("{agent}: {}", answer.body));
            }
        }
        let params = json!({"name": "dispatch", "arguments": {"text": "help", "history": []}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = send(&bot, &Bearer("alone"), Method::POST, "/mcp", Some(&call))
            .await
            .json();
        let is_denied = answer["error"]["data"]["code"] == "unauthorized";
        if is_denied != (row.scope != "dispatch") {
            wrong.push(format!("dispatch: {answer}"));
        }
        wrong
    })
    .await;
}
