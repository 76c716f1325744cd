//! Settings of the surface.

use ars_auth::Secret;

use crate::api::ApiBase;

/// The surface's settings.
#[derive(Clone)]
pub struct SlackSettings {
    /// Address of the Web API.
    pub base: ApiBase,
    /// Token of the bot, for the Web API.
    pub bot_token: Secret,
    /// Token of the app, for the event socket.
    pub app_token: Secret,
    /// Minutes that a catch-up looks back, or `None` without catch-ups.
    pub catch_up: Option<u32>,
    /// Who may start runs beside members.
    pub admits: Admits,
    /// Base URL for run pages.
    pub pages: Option<String>,
}

/// Whom the surface admits beside the workspace's members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Admits {
    /// Guests, and people from other organizations.
    pub guests: bool,
    /// Channels that another organization shares.
    pub shared_channels: bool,
}
