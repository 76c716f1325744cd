//! Settings of the surface: those that fail the start, and `ars setup slack`.

use ars_testkit::Reply;
use serde_json::Value;

use super::world::World;
use crate::support::run;

#[tokio::test]
async fn incomplete_settings_fail_the_start() {
    let world = World::answering([] as [Reply; 0]).await;
    for (variable, value, named) in [
        ("SLACK_APP_TOKEN", "", "SLACK_APP_TOKEN"),
        ("SLACK_BOT_TOKEN", "", "SLACK_BOT_TOKEN"),
        (
            "SLACK_BASE_URL",
            "http://slack.example/api",
            "SLACK_BASE_URL",
        ),
    ] {
        let ended = run(world.command("").env(variable, value)).await;
        ended.assert_refused(2, "invalid_input", &[named]);
    }
    for (config, named) in [
        (
            "[slack.catchUp]\nwindowMinutes = 0\n",
            "slack.catchUp.windowMinutes",
        ),
        ("[slack.catchUp]\nenabled = 3\n", "enabled"),
        ("[slack]\nchannel = \"x\"\n", "channel"),
    ] {
        let ended = run(&mut world.command(config)).await;
        ended.assert_refused(2, "invalid_input", &[named]);
    }
}

/// The manifest is on standard output; each missing scope is a line on standard error.
#[tokio::test]
async fn setup_prints_the_manifest_and_checks_scopes() {
    let world = World::answering([] as [Reply; 0]).await;
    let unset = run(&mut world.machine.ars(&["setup", "slack"])).await;
    unset.assert_code(0);
    let manifest: Value = serde_json::from_str(&unset.stdout).unwrap();
    assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
    assert!(unset.stderr.contains("xapp-"), "{}", unset.stderr);

    world.slack.revoke_scope("files:read");
    world.slack.revoke_scope("users:read");
    let mut command = world.machine.ars(&["setup", "slack"]);
    command
        .env("SLACK_BASE_URL", world.slack.url())
        .env("SLACK_BOT_TOKEN", world.slack.bot_token())
        .env("SLACK_APP_TOKEN", world.slack.app_token());
    let checked = run(&mut command).await;
    checked.assert_code(1);
    for scope in ["files:read", "users:read"] {
        let lines = checked.stderr.lines().filter(|line| line.contains(scope));
        assert_eq!(lines.count(), 1, "{}", checked.stderr);
    }
    assert!(!checked.stderr.contains(&world.slack.app_token()));
}
