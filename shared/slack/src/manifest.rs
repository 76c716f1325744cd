//! The app's permissions and events, in the form with which Slack creates an app.

use serde_json::{Value, json};

/// Scopes that the bot's token needs.
pub const BOT_SCOPES: &[&str] = &[
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "reactions:write",
    "users:read",
];
/// Events that the app receives.
pub const BOT_EVENTS: &[&str] = &[
    "agent_session_stopped",
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
];

/// Returns the app's manifest.
pub fn manifest() -> Value {
    json!({
        "display_information": {
            "name": "Agents",
            "description": "Runs coding, review and general agents. Mention it, or write to it.",
        },
        "features": {
            "agent_view": { "agent_description": "Runs coding, review and general agents." },
            "app_home": {
                "home_tab_enabled": false,
                "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false,
            },
            "bot_user": { "display_name": "agents", "always_online": true },
        },
        "oauth_config": { "scopes": { "bot": BOT_SCOPES } },
        "settings": {
            "event_subscriptions": { "bot_events": BOT_EVENTS },
            "interactivity": { "is_enabled": true },
            "org_deploy_enabled": false,
            "socket_mode_enabled": true,
            "token_rotation_enabled": false,
        },
    })
}
