//! The surfaces through which a command is invoked.

/// One surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Surface {
    /// The text of a message, on any channel.
    Chat,
    /// The command line.
    Cli,
    /// `/api/<group>.<verb>`.
    Api,
    /// An MCP tool.
    Mcp,
}

/// The surfaces that offer a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surfaces {
    chat: bool,
    cli: bool,
    api: bool,
    mcp: bool,
}

impl Surface {
    /// Every surface.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Cli, Self::Api, Self::Mcp];

    /// Returns the name for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Mcp => "mcp",
        }
    }

    /// Returns whether people read the answer as text.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Chat | Self::Cli)
    }
}

impl Surfaces {
    /// All surfaces.
    pub const ALL: Self = Self {
        chat: true,
        cli: true,
        api: true,
        mcp: true,
    };
    /// All surfaces except chat.
    pub const NOT_CHAT: Self = Self {
        chat: false,
        ..Self::ALL
    };
    /// The command line only.
    pub const CLI: Self = Self {
        chat: false,
        cli: true,
        api: false,
        mcp: false,
    };

    /// Returns whether `surface` is one of them.
    pub const fn contain(self, surface: Surface) -> bool {
        match surface {
            Surface::Chat => self.chat,
            Surface::Cli => self.cli,
            Surface::Api => self.api,
            Surface::Mcp => self.mcp,
        }
    }
}
