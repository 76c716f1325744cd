//! The surfaces through which a command is invoked.

/// A way to reach the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Surface {
    /// The text in a message, on any channel.
    Chat,
    /// The command line client.
    Cli,
    /// The route `/api/<group>.<verb>`.
    Api,
    /// An MCP tool call.
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
    /// Every surface, in order.
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
    /// All surfaces at once.
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

    /// Returns whether `surface` is among them.
    pub const fn contain(self, surface: Surface) -> bool {
        match surface {
            Surface::Chat => self.chat,
            Surface::Cli => self.cli,
            Surface::Api => self.api,
            Surface::Mcp => self.mcp,
        }
    }
}
