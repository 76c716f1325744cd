//! Channel and user settings.

use std::sync::atomic::Ordering;

use ars_auth::{Grants, Set};
use ars_bot_core::{commands::Caller, settings::Settings};
use ars_settings::Scopes;
use serde_json::{Value, json};

use super::support::{Desk, browser, desk, desk_with, granted, none, slack, token};

fn configured() -> Desk {
    desk_with(
        Vec::new(),
        |capabilities| capabilities,
        |settings| Settings {
            scopes: Scopes::read(&json!({ "channels": { "slack:C1": {
                "agent": "review", "effort": "low", "instructions": "from the file" } } }))
            .unwrap(),
            grants: [(
                "slack:U9".to_owned(),
                Grants {
                    actions: Set::only(&["config:write"]),
                    ..Grants::default()
                },
            )]
            .into(),
            restrictions: ars_auth::Restrictions {
                agents: ["coding".to_owned()].into(),
                ..Default::default()
            },
            ..settings
        },
    )
}

fn admin() -> Caller {
    let mut caller = slack();
    caller.actor.id = "slack:U9".into();
    caller
}

#[tokio::test]
async fn show_resolves_the_layers() {
    let desk = configured();
    let shown = desk.output(&slack(), "config.show", none()).await;
    assert_eq!(
        shown["effective"],
        json!({ "agent": "review", "model": "scripted/m", "effort": "low" })
    );
    assert_eq!(
        shown["channel"],
        json!({ "agent": "review", "effort": "low", "instructions": "(13 characters)" })
    );
    assert_eq!(shown["user"], json!({}));
    assert_eq!(shown.get("org"), None);
    assert_eq!(shown["defaults"]["agent"], "general");
    assert_eq!(shown["defaults"]["models"]["coding"], "scripted/m");
    assert_eq!(shown["restrictedAgents"], json!(["coding"]));
    assert_eq!(shown["channelConfigRestricted"], true);
    assert!(shown["adminsHint"].as_str().unwrap().contains("slack:U9"));
}

#[tokio::test]
async fn own_settings_need_no_grant() {
    let desk = configured();
    let body = json!({ "scope": "me", "agent": "research", "models": { "coding": "a/b" }, "efforts.review": "max" });
    let set = desk.output(&slack(), "config.set", body).await;
    let effective = json!({ "agent": "research", "models": { "coding": "a/b" }, "efforts": { "review": "max" } });
    assert_eq!(set, json!({ "scope": "me", "effective": effective }));
    let shown = desk.output(&slack(), "config.show", none()).await;
    assert_eq!(shown["effective"]["agent"], "research");
    let cleared = desk
        .output(&slack(), "config.clear", json!({ "scope": "me" }))
        .await;
    assert_eq!(cleared, json!({ "scope": "me", "cleared": true }));
    assert_eq!(
        desk.output(&slack(), "config.show", none()).await["user"],
        json!({})
    );
}

#[tokio::test]
async fn channel_settings_need_the_grant() {
    let desk = configured();
    let body = json!({ "scope": "channel", "agent": "general" });
    let (code, _) = desk.failure(&slack(), "config.set", body.clone()).await;
    assert_eq!(code, "unauthorized");
    let set = desk.output(&admin(), "config.set", body).await;
    assert_eq!(set["effective"]["agent"], "general");
    assert_eq!(set["effective"]["instructions"], "(13 characters)");
    let clear = json!({ "scope": "channel" });
    assert_eq!(
        desk.failure(&slack(), "config.clear", clear.clone())
            .await
            .0,
        "unauthorized"
    );
    desk.output(&admin(), "config.clear", clear).await;
    let shown = desk.output(&slack(), "config.show", none()).await;
    assert_eq!(
        shown["effective"]["agent"], "review",
        "the file's setting applies again"
    );
}

#[tokio::test]
async fn machine_surfaces_name_the_channel() {
    let desk = configured();
    let missing = desk.failure(&browser(), "config.show", none()).await;
    assert_eq!(missing.0, "invalid_input");
    assert!(missing.1.starts_with("channel "), "{}", missing.1);
    let body = json!({ "channel": "slack:C1" });
    assert_eq!(
        desk.output(&browser(), "config.show", body).await["effective"]["agent"],
        "review"
    );
    let pinned = token(&["config:read"], Some("ops"));
    assert_eq!(
        desk.output(&pinned, "config.show", none()).await["effective"]["agent"],
        "general"
    );
}

#[tokio::test]
async fn machines_change_their_own_settings_with_a_grant() {
    let desk = desk();
    let machine = token(&["config:write"], Some("ops"));
    let set = json!({ "scope": "channel", "effort": "high" });
    assert_eq!(
        desk.output(&machine, "config.set", set.clone()).await["effective"],
        json!({ "effort": "high" })
    );
    assert_eq!(
        desk.failure(&token(&["config:read"], Some("ops")), "config.set", set)
            .await
            .0,
        "unauthorized"
    );
}

#[tokio::test]
async fn instructions_are_shown_set_and_cleared() {
    let desk = configured();
    let run =
        async |caller: &Caller, body: Value| desk.output(caller, "config.instructions", body).await;
    let in_channel = json!({ "scope": "channel" });
    let shown = run(&slack(), in_channel.clone()).await;
    assert_eq!(
        shown,
        json!({ "scope": "channel", "action": "show", "instructions": "from the file" })
    );
    let set = run(&admin(), json!({ "scope": "channel", "text": "be kind" })).await;
    assert_eq!(
        set,
        json!({ "scope": "channel", "action": "set", "instructions": "be kind" })
    );
    let cleared = run(&admin(), json!({ "scope": "channel", "text": "" })).await;
    assert_eq!(
        cleared,
        json!({ "scope": "channel", "action": "clear", "instructions": "from the file" })
    );
    assert_eq!(
        run(&slack(), json!({ "scope": "me" })).await,
        json!({ "scope": "me", "action": "show" })
    );
    let elsewhere = json!({ "scope": "channel", "channel": "slack:C2" });
    assert_eq!(
        desk.failure(&slack(), "config.instructions", elsewhere)
            .await
            .0,
        "unauthorized"
    );
    let text = desk
        .says(&slack(), "config instructions me answer in \"plain words\"")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        text.text,
        "Custom instructions (me) are set:\nanswer in plain words"
    );
    let long = json!({ "scope": "me", "text": "x".repeat(2001) });
    let (code, message) = desk.failure(&slack(), "config.instructions", long).await;
    assert_eq!(
        (code, message.as_str()),
        (
            "invalid_input",
            "text must be text of at most 2000 characters"
        )
    );
}

#[tokio::test]
async fn invalid_changes_are_rejected() {
    let desk = desk();
    for (body, expected) in [
        (json!({ "scope": "me" }), "there is nothing to set"),
        (
            json!({ "scope": "me", "agent": "nobody" }),
            "agent must name an agent: general, coding, review, research",
        ),
        (
            json!({ "scope": "me", "models": { "nobody": "a/b" } }),
            "a key of models must name an agent: general, coding, review, research",
        ),
        (
            json!({ "scope": "me", "effort": "huge" }),
            "effort must be one of low, medium, high, xhigh, max",
        ),
        (json!({ "scope": "us" }), "scope must be one of channel, me"),
    ] {
        let failure = desk.failure(&slack(), "config.set", body).await;
        assert_eq!(failure, ("invalid_input", expected.to_owned()));
    }
}

#[tokio::test]
async fn outage_of_the_overrides_is_unavailable() {
    let desk = desk();
    desk.settings.is_down.store(true, Ordering::SeqCst);
    let body = json!({ "scope": "me", "effort": "low" });
    assert_eq!(
        desk.failure(&slack(), "config.set", body.clone()).await.0,
        "unavailable"
    );
    let without = desk_with(
        Vec::new(),
        |capabilities| ars_bot_core::Capabilities {
            overrides: None,
            ..capabilities
        },
        |settings| settings,
    );
    assert_eq!(
        without.failure(&slack(), "config.set", body).await.0,
        "unavailable"
    );
    let everything = granted(&[], Set::default());
    assert!(
        without
            .invoke(&everything, "config.show", json!({ "channel": "slack:C1" }))
            .await
            .is_ok()
    );
}
