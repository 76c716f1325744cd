//! Every command with every caller: who may invoke it, and on which surfaces it exists.

use std::sync::Arc;

use ars_auth::{Actor, Grants, Set, policy::GROUPS};
use ars_bot_core::{
    Capabilities,
    commands::{Caller, DecidedBy},
};
use ars_commands::{Capability, Surface};
use ars_wire::ErrorCode;

use super::support::{Desk, browser, desk, desk_with, none, on, operator, sender, slack, token};
use crate::{
    commands::schedules,
    support::{MemoryHost, with_host, with_residents},
};

/// The table's columns, by caller.
const CALLERS: [&str; 8] = [
    "dispatch",
    "reader",
    "writer",
    "browser",
    "operator",
    "access service",
    "slack",
    "cli",
];

/// Who may invoke each command: a letter per caller, `y` or `-`.
const TABLE: &[(&str, &str)] = &[
    ("help.show", "-yyyy-yy"),
    ("status.show", "-yyyy-yy"),
    ("config.show", "-yyyy-yy"),
    ("config.set", "--yyy-yy"),
    ("config.clear", "--yyy-yy"),
    ("config.instructions", "--yyy-yy"),
    ("runs.list", "-yyyy--y"),
    ("runs.get", "-yyyy--y"),
    ("runs.events", "-yyyy--y"),
    ("runs.friction", "-yyyy--y"),
    ("runs.outcomes", "-yyyy--y"),
    ("runs.stop", "--y-y--y"),
    ("runs.restore", "--y-y--y"),
    ("review.abridge", "--y----y"),
    ("memory.list", "-yyyy-yy"),
    ("memory.forget", "--y---yy"),
    ("friction.report", "-yyyy-yy"),
    ("friction.propose", "--y----y"),
    ("friction.analyze", "-yyyy-yy"),
    ("repo.list", "-yyyy-yy"),
    ("repo.onboard", "--y----y"),
    ("repo.offboard", "--y----y"),
    ("repo.reconfigure", "--y----y"),
    ("repo.rebuild", "--y----y"),
    // The callers' scopes have neither `repo:exec` nor the coding agent.
    ("repo.test", "-------y"),
    ("repo.build", "-------y"),
    ("schedule.list", "-yyyy-yy"),
];

fn callers() -> [Caller; 8] {
    let actions = |verbs: &[&str]| -> Vec<String> {
        GROUPS
            .iter()
            .flat_map(|group| verbs.iter().map(move |verb| format!("{group}:{verb}")))
            .collect()
    };
    let with =
        |scopes: Vec<String>| token(&scopes.iter().map(String::as_str).collect::<Vec<_>>(), None);
    [
        token(&["dispatch"], None),
        with(actions(&["read"])),
        with(actions(&["read", "write"])),
        browser(),
        operator(),
        Caller::dashboard(Actor::new("access:svc:ci", Grants::default())),
        slack(),
        Caller::cli(),
    ]
}

fn with_all(capabilities: Capabilities) -> Capabilities {
    let capabilities = with_residents(&Arc::default())(schedules::with_schedules(capabilities));
    with_host(&Arc::<MemoryHost>::default())(capabilities)
}

fn whole() -> Desk {
    desk_with(Vec::new(), with_all, |settings| settings)
}

/// Returns a surface that has the command.
fn surface_of(desk: &Desk, id: &str) -> Surface {
    let commands = desk.commands();
    Surface::ALL
        .into_iter()
        .find(|surface| commands.registry().get(id, *surface).is_some())
        .unwrap()
}

#[tokio::test]
async fn each_command_admits_exactly_its_callers() {
    let desk = whole();
    for (id, expected) in TABLE {
        let surface = surface_of(&desk, id);
        for ((name, caller), expected) in CALLERS.iter().zip(callers()).zip(expected.chars()) {
            let result = desk.invoke(&on(&caller, surface), id, none()).await;
            let denied = result.as_ref().is_err_and(|failure| {
                (failure.code, failure.decided_by) == (ErrorCode::Unauthorized, DecidedBy::Registry)
            });
            assert_eq!(!denied, expected == 'y', "{id} by {name}: {result:?}");
            let admitted = desk.commands().admit(&on(&caller, surface), id).is_ok();
            assert_eq!(admitted, expected == 'y', "{id} by {name}");
        }
    }
}

#[test]
fn every_command_has_a_row() {
    let desk = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { whole() });
    let commands = desk.commands();
    let mut ids: Vec<&str> = Surface::ALL
        .iter()
        .flat_map(|surface| commands.registry().on(*surface))
        .map(|d| d.id)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let mut rows: Vec<&str> = TABLE.iter().map(|(id, _)| *id).collect();
    rows.sort_unstable();
    assert_eq!(ids, rows);
}

/// An unauthorized caller learns nothing about the schema: invalid input is answered like valid
/// input.
#[tokio::test]
async fn denial_precedes_validation() {
    let desk = desk();
    for text in ["runs list", "runs list --nope", "runs list \"open"] {
        let failure = desk.says(&slack(), text).await.unwrap().unwrap_err();
        assert_eq!(failure.code, ErrorCode::Unauthorized, "{text}");
        assert_eq!(
            failure.chat_text(),
            "⛔ `runs list`: you do not have permission to do this"
        );
    }
}

#[tokio::test]
async fn message_for_help_needs_no_permission() {
    let desk = desk();
    for text in ["help", "runs help", "runs list --help"] {
        assert!(
            desk.says(&sender(&["dispatch"]), text)
                .await
                .unwrap()
                .is_ok(),
            "{text}"
        );
    }
}

#[tokio::test]
async fn hidden_command_is_unknown() {
    let desk = desk_with(
        Vec::new(),
        |capabilities| ars_bot_core::Capabilities {
            memory: None,
            ..capabilities
        },
        |settings| settings,
    );
    let unknown = desk.failure(&Caller::cli(), "no.such", none()).await;
    for surface in Surface::ALL {
        let caller = on(&Caller::cli(), surface);
        for id in ["memory.lists", "runs", "", "RUNS.LIST"] {
            assert_eq!(desk.failure(&caller, id, none()).await, unknown, "{id}");
            assert!(desk.commands().admit(&caller, id).is_err(), "{id}");
        }
    }
    assert_eq!(
        unknown,
        ("not_found", "there is no such command".to_owned())
    );
    assert_eq!(desk.failure(&slack(), "runs.get", none()).await, unknown);
    assert_eq!(
        desk.failure(&operator(), "friction.analyze", none()).await,
        unknown
    );
}

/// It is an answer on every surface, never prose in a run, and names the setting that turns it on.
#[tokio::test]
async fn command_without_its_part_names_the_setting() {
    let desk = desk_with(
        Vec::new(),
        |capabilities| ars_bot_core::Capabilities {
            memory: None,
            ..capabilities
        },
        |settings| settings,
    );
    for surface in Surface::ALL {
        let caller = on(&Caller::cli(), surface);
        for (id, setting) in [
            ("memory.list", "memory.enabled"),
            ("schedule.list", "schedules.worker"),
            ("repo.list", "execution.resident.baseUrl"),
            ("friction.propose", "GITHUB_APP_ID"),
        ] {
            let (code, text) = desk.failure(&caller, id, none()).await;
            assert!(
                code == "not_found" && text.contains(setting),
                "{id}: {text}"
            );
            assert_eq!(
                desk.commands().admit(&caller, id).unwrap_err().message,
                text,
                "{id}"
            );
            assert_eq!(desk.commands().unknown(&caller, id).message, text, "{id}");
        }
    }
    let said = desk
        .says(&slack(), "memory forget mem:1")
        .await
        .expect("a command")
        .unwrap_err();
    assert!(
        said.chat_text()
            .starts_with("⚠️ `memory forget`: memory is off: set"),
        "{}",
        said.chat_text()
    );
}

#[tokio::test]
async fn configured_grants_count() {
    let grants = Grants {
        actions: Set::only(&["status:read"]),
        ..Grants::default()
    };
    let desk = desk_with(
        Vec::new(),
        |capabilities| capabilities,
        |settings| ars_bot_core::settings::Settings {
            grants: [("mcp:ann".to_owned(), grants)].into(),
            ..settings
        },
    );
    assert!(
        desk.invoke(&token(&["dispatch"], None), "status.show", none())
            .await
            .is_ok()
    );
    assert!(
        desk.invoke(&sender(&["dispatch"]), "status.show", none())
            .await
            .is_err()
    );
}

#[test]
fn every_output_has_an_object_schema() {
    let desk = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { whole() });
    for (id, _) in TABLE {
        let schema = desk.commands().output_schema(id).unwrap();
        assert_eq!(schema["type"], "object", "{id}");
        assert!(schema["properties"].is_object(), "{id}: {schema}");
    }
    assert_eq!(desk.commands().output_schema("no.such"), None);
}

/// Every surface builds the same input for a command, so each command's capability is known here.
#[test]
fn capabilities_are_those_of_the_documents() {
    let desk = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { whole() });
    let commands = desk.commands();
    let hidden = commands
        .registry()
        .on(Surface::Api)
        .filter_map(|definition| Some((definition.id, definition.capability?)));
    let expected = [
        ("review.abridge", Capability::Abridger),
        ("memory.list", Capability::Memory),
        ("memory.forget", Capability::Memory),
        ("friction.propose", Capability::CodeHost),
        ("repo.list", Capability::Residents),
        ("repo.onboard", Capability::Residents),
        ("repo.offboard", Capability::Residents),
        ("repo.reconfigure", Capability::Residents),
        ("repo.rebuild", Capability::Residents),
        ("repo.test", Capability::Residents),
        ("repo.build", Capability::Residents),
        ("schedule.list", Capability::Schedules),
    ];
    assert_eq!(hidden.collect::<Vec<_>>(), expected);
    let leaving = commands
        .registry()
        .on(Surface::Chat)
        .filter(|definition| definition.leaves_run);
    assert_eq!(
        leaving.map(|definition| definition.id).collect::<Vec<_>>(),
        [
            "memory.forget",
            "friction.report",
            "friction.propose",
            "repo.onboard",
            "repo.offboard",
            "repo.reconfigure",
            "repo.rebuild",
            "repo.test",
            "repo.build",
        ]
    );
}
