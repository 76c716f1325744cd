//! Repositories that are kept warm, and their operations without a model.

use std::sync::Arc;

use ars_auth::Set;
use ars_bot_core::{commands::Caller, settings::Settings};
use ars_bot_ports::ResidentsError;
use ars_resident::{
    lifecycle::StateWord,
    refusal::{Refusal, Token},
    wire::ReconfigureRequest,
};
use serde_json::{Value, json};

use super::support::{Desk, browser, desk_with, granted, none};
use crate::support::{MemoryHost, MemoryResidents, OUTPUT, with_host, with_residents};

fn of(residents: &Arc<MemoryResidents>) -> Desk {
    let settings = |settings| Settings {
        restrictions: ars_auth::Restrictions {
            repos: ["acme/closed".to_owned()].into(),
            ..Default::default()
        },
        ..settings
    };
    desk_with(Vec::new(), with_residents(residents), settings)
}

fn admin() -> Caller {
    granted(&["repo:write", "repo:exec"], Set::All)
}

/// A host with the repository's root files, and a single manifest.
fn cargo_host() -> Arc<MemoryHost> {
    let host = MemoryHost::default();
    *host.files.lock().unwrap() = [
        ("Cargo.toml", "[workspace]"),
        ("Cargo.lock", ""),
        ("Makefile", "test:"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    Arc::new(host)
}

#[tokio::test]
async fn onboarding_detects_the_command_table() {
    let (residents, host) = (Arc::<MemoryResidents>::default(), cargo_host());
    let both = |capabilities| with_host(&host)(with_residents(&residents)(capabilities));
    let desk = desk_with(Vec::new(), both, |settings| settings);
    let onboarded = desk
        .output(
            &admin(),
            "repo.onboard",
            json!({ "slug": "Acme/App.git", "test": "cargo nextest run" }),
        )
        .await;
    assert_eq!(
        onboarded,
        json!({
            "slug": "acme/app", "defaultRef": "main", "toolchain": "cargo", "state": "onboarding",
            "commands": {
                "install": "cargo fetch --locked", "build": "cargo build --workspace", "test": "cargo nextest run",
            },
            "detection": { "notes": ["Makefile is ignored because of Cargo.toml"] }, "explicit": ["test"],
        })
    );
    let listed = desk.output(&browser(), "repo.list", none()).await;
    assert_eq!((&listed["count"], &listed["cap"]), (&json!(1), &json!(6)));
    let row = &listed["residents"][0];
    assert_eq!(
        (&row["resource"], &row["live"]["state"]),
        (&json!("repo:acme/app"), &json!("onboarding"))
    );
    let again = desk
        .failure(&admin(), "repo.onboard", json!({ "slug": "acme/app" }))
        .await;
    assert!(
        again.0 == "conflict" && again.1.starts_with("already-onboarded: "),
        "{again:?}"
    );
}

#[tokio::test]
async fn uninspected_repository_gets_npm_defaults() {
    let residents = Arc::<MemoryResidents>::default();
    let desk = of(&residents);
    let onboarded = desk
        .output(&admin(), "repo.onboard", json!({ "slug": "acme/app" }))
        .await;
    assert_eq!(
        (&onboarded["toolchain"], &onboarded["commands"]["test"]),
        (&Value::Null, &json!("npm test"))
    );
    assert_eq!(
        onboarded["detection"],
        json!({ "unavailable": "no code host is configured" })
    );
    assert!(
        onboarded["warning"].as_str().unwrap().contains("npm"),
        "{onboarded}"
    );
    let named =
        json!({ "slug": "acme/other", "ref": "trunk", "test": "make check", "build": "make" });
    let onboarded = desk.output(&admin(), "repo.onboard", named).await;
    assert_eq!(
        onboarded["commands"],
        json!({ "build": "make", "test": "make check" })
    );
    assert_eq!(
        (&onboarded["explicit"], onboarded.get("warning")),
        (&json!(["build", "test"]), None)
    );
    assert_eq!(onboarded["defaultRef"], "trunk");
}

#[tokio::test]
async fn reconfiguration_keeps_other_commands() {
    let residents = MemoryResidents::with_one("acme/app");
    let desk = of(&residents);
    let body = json!({ "slug": "acme/app", "test": "npm run unit" });
    let changed = desk.output(&admin(), "repo.reconfigure", body).await;
    let table = json!({ "install": "npm ci", "build": "true", "test": "npm run unit" });
    assert_eq!(
        changed,
        json!({ "slug": "acme/app", "changed": { "commands": table } })
    );
    let changed = desk
        .output(
            &admin(),
            "repo.reconfigure",
            json!({ "slug": "acme/app", "ref": "dev" }),
        )
        .await;
    assert_eq!(changed["changed"], json!({ "ref": "dev" }));
    let record = residents.rows.lock().unwrap()[0].record.clone();
    assert_eq!(
        (json!(record.commands), record.default_ref.as_str()),
        (table, "dev")
    );
    for (body, code) in [
        (json!({ "slug": "acme/app" }), "invalid_input"),
        (
            json!({ "slug": "acme/app", "test": "a\u{0}b" }),
            "invalid_input",
        ),
        (json!({ "slug": "acme/gone", "test": "x" }), "not_found"),
    ] {
        assert_eq!(
            desk.failure(&admin(), "repo.reconfigure", body.clone())
                .await
                .0,
            code,
            "{body}"
        );
    }
}

#[tokio::test]
async fn dry_runs_change_nothing() {
    let residents = MemoryResidents::with_one("acme/app");
    let desk = of(&residents);
    let plan = |id: &'static str| desk.output_of(id, json!({ "slug": "acme/app", "dryRun": true }));
    let removal = plan("repo.offboard").await;
    assert_eq!(
        (
            &removal["dryRun"],
            &removal["wouldRemove"]["threadBindings"]
        ),
        (&json!(true), &json!(2))
    );
    let rebuild = plan("repo.rebuild").await;
    assert_eq!(rebuild["from"], json!({ "state": "warm", "reason": null }));
    assert_eq!(
        (&rebuild["keeps"]["threadBindings"], rebuild.get("state")),
        (&json!(2), None)
    );
    assert!(matches!(residents.rows.lock().unwrap()[..], [_]));
    let rebuilt = desk
        .output_of("repo.rebuild", json!({ "slug": "acme/app" }))
        .await;
    assert_eq!(
        (&rebuilt["dryRun"], &rebuilt["state"]),
        (&json!(false), &json!("onboarding"))
    );
    let removed = desk
        .output_of("repo.offboard", json!({ "slug": "acme/app" }))
        .await;
    assert_eq!(
        (
            &removed["slug"],
            &removed["dryRun"],
            &removed["registryRemoved"],
            &removed["errors"]
        ),
        (
            &json!("acme/app"),
            &json!(false),
            &json!(true),
            &json!(["r2: 503"])
        )
    );
    assert!(residents.rows.lock().unwrap().is_empty());
}

#[tokio::test]
async fn operation_runs_without_a_model() {
    let residents = MemoryResidents::with_one("acme/app");
    let desk = of(&residents);
    let passed = desk
        .output_of("repo.test", json!({ "slug": "acme/app" }))
        .await;
    assert_eq!(
        passed,
        json!({
            "op": "test", "repo": "acme/app", "ref": "main", "ok": true, "summary": "test succeeded",
            "output": ars_events::wrap_untrusted(OUTPUT),
        })
    );
    let failed = desk
        .output_of("repo.build", json!({ "slug": "acme/app", "ref": "broken" }))
        .await;
    assert_eq!(
        (&failed["ok"], &failed["summary"]),
        (&json!(false), &json!("build failed"))
    );
    assert_eq!(residents.ops.lock().unwrap().len(), 2);
    assert!(desk.model.seen.lock().unwrap().is_empty());
    let effects = json!({ "resource": "repo:acme/app", "effects": { "build": "mutating" } });
    let request: ReconfigureRequest = serde_json::from_value(effects).unwrap();
    ars_bot_ports::Residents::reconfigure(&*residents, &request, &Default::default())
        .await
        .unwrap();
    for (id, body, code) in [
        ("repo.build", json!({ "slug": "acme/app" }), "conflict"),
        ("repo.test", json!({ "slug": "acme/gone" }), "not_found"),
        (
            "repo.test",
            json!({ "slug": "acme/closed" }),
            "unauthorized",
        ),
        (
            "repo.test",
            json!({ "slug": "acme/app", "ref": "gone" }),
            "invalid_input",
        ),
        (
            "repo.test",
            json!({ "slug": "acme/app", "ref": "--upload-pack=x" }),
            "invalid_input",
        ),
        ("repo.test", json!({ "slug": "../app" }), "invalid_input"),
        (
            "repo.test",
            json!({ "slug": format!("acme/{}", "a".repeat(60)) }),
            "invalid_input",
        ),
    ] {
        assert_eq!(
            desk.failure(&admin(), id, body.clone()).await.0,
            code,
            "{id} {body}"
        );
    }
    assert_eq!(
        residents.ops.lock().unwrap().len(),
        2,
        "a rejected request reaches no resident"
    );
}

#[tokio::test]
async fn coding_agent_grants_operations() {
    let desk = of(&MemoryResidents::with_one("acme/app"));
    let body = || json!({ "slug": "acme/app" });
    for (actions, id, is_allowed) in [
        (&["agent:run:coding"][..], "repo.test", true),
        (&["repo:exec"], "repo.build", true),
        (&["repo:write"], "repo.test", false),
        (&["repo:exec"], "repo.rebuild", false),
        (&["repo:exec"], "repo.list", true),
    ] {
        let body = if id == "repo.list" { none() } else { body() };
        let result = desk.invoke(&granted(actions, Set::All), id, body).await;
        let denied = result.is_err_and(|failure| failure.code.as_str() == "unauthorized");
        assert_eq!(!denied, is_allowed, "{actions:?} {id}");
    }
}

#[tokio::test]
async fn outage_is_unavailable() {
    let residents = MemoryResidents::with_one("acme/app");
    let desk = of(&residents);
    for (error, text) in [
        (ResidentsError::Busy, "fleet-busy: "),
        (
            ResidentsError::Unreachable("refused".into()),
            "resident unreachable: refused",
        ),
        (
            ResidentsError::Failed("HTTP 502".into()),
            "resident failed: HTTP 502",
        ),
        (
            Refusal::new(Token::Unauthorized, "").into(),
            "the residents reject the configured token",
        ),
        (
            Refusal::not_serviceable(StateWord::Down, "r2-restore-failed: x").into(),
            "not-serviceable: ",
        ),
    ] {
        residents.fail(error);
        let (code, message) = desk
            .failure(&admin(), "repo.test", json!({ "slug": "acme/app" }))
            .await;
        assert!(
            code == "unavailable" && message.starts_with(text),
            "{code} {message}"
        );
    }
}

#[tokio::test]
async fn text_names_state_and_output() {
    let residents = MemoryResidents::with_one("acme/app");
    residents.insert("acme/site", StateWord::Degraded, Some("disk-full: 3 MiB"));
    let desk = of(&residents);
    let cli = Caller::cli();
    let text = async |words: &str| {
        desk.says(
            &Caller {
                surface: ars_commands::Surface::Chat,
                ..cli.clone()
            },
            words,
        )
        .await
        .unwrap()
        .unwrap()
        .text
    };
    assert_eq!(
        text("repo list").await,
        "2 of 6 residents\n- acme/app: warm, main\n- acme/site: degraded (disk-full: 3 MiB), main"
    );
    assert_eq!(
        text("repo test acme/app").await,
        format!("✅ `acme/app`: test succeeded\n\n{OUTPUT}")
    );
    assert!(
        text("repo test acme/app broken")
            .await
            .starts_with("❌ `acme/app`: test failed\n")
    );
    let plan = text("repo offboard acme/app --dry-run").await;
    assert!(
        plan.starts_with("`acme/app` would be removed:\n") && plan.contains("- threadBindings: 2"),
        "{plan}"
    );
    let removed = text("repo offboard acme/app").await;
    assert!(removed.ends_with("- failed: r2: 503"), "{removed}");
    let rebuild = text("repo rebuild acme/site --dry-run").await;
    assert!(
        rebuild.contains("- state before: degraded (disk-full: 3 MiB)"),
        "{rebuild}"
    );
    let changed = text("repo reconfigure acme/site --test 'npm run unit'").await;
    assert!(changed.contains("- test: `npm run unit`"), "{changed}");
    let onboarded = text("repo onboard acme/new").await;
    assert!(
        onboarded.contains("- test: `npm test`") && onboarded.contains("Warning: "),
        "{onboarded}"
    );
}

impl Desk {
    /// Returns the output when an administrator invokes a command.
    async fn output_of(&self, id: &str, body: Value) -> Value {
        self.output(&admin(), id, body).await
    }
}
