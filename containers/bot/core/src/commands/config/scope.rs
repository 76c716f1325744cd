//! The scope a change applies to: the caller's own settings, or a channel's.

use ars_auth::policy::Resource;
use ars_commands::{Field, FieldRule, Kind, names};
use ars_settings::Target;
use ars_types::Visibility;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{call::Call, error::CommandError};
use crate::context::overrides::Overrides;

/// The action of a change.
const WRITE: &str = "config:write";

/// The argument.
pub(super) const SCOPE: Field = Field::required(
    "scope",
    Kind::Choice(&["channel", "me"]),
    "the channel's settings or one's own",
);
/// The option.
pub(super) const CHANNEL: Field = Field::optional(
    "channel",
    Kind::Name(&names::CHANNEL),
    "the channel, by default the caller's own",
);

/// A channel's settings need a channel.
pub(super) const CHANNEL_RULE: FieldRule = FieldRule::OfCaller {
    field: "channel",
    when: Some(("scope", "channel")),
};

/// The scope as callers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeName {
    /// The channel's settings.
    Channel,
    /// The caller's own settings.
    Me,
}

/// The owner of the scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// A channel.
    Channel(String),
    /// A user.
    User(String),
}

impl ScopeName {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Me => "me",
        }
    }

    /// Returns the owner of the scope.
    ///
    /// # Errors
    ///
    /// There is no channel.
    pub(super) fn owner(
        self,
        call: Call<'_>,
        channel: Option<String>,
    ) -> Result<Owner, CommandError> {
        match self {
            Self::Channel => call.channel(channel).map(Owner::Channel),
            Self::Me => Ok(Owner::User(call.caller.actor.main_account().to_owned())),
        }
    }
}

impl Owner {
    pub(super) fn target(&self) -> Target<'_> {
        match self {
            Self::Channel(channel) => Target::Channel(channel),
            Self::User(user) => Target::User(user),
        }
    }

    /// Checks whether the caller may change the scope.
    pub(super) fn check(&self, call: Call<'_>) -> Result<(), CommandError> {
        match self {
            Self::Channel(channel) => {
                let own = call
                    .caller
                    .origin
                    .as_ref()
                    .filter(|origin| origin.channel == *channel);
                let visibility = own.map_or(Visibility::Unknown, |origin| origin.visibility);
                call.permits(
                    WRITE,
                    &Resource::ChannelScope {
                        channel,
                        visibility,
                    },
                )
            }
            Self::User(user) => call.permits(WRITE, &Resource::UserScope(user)),
        }
    }

    /// Returns whether it is the caller's own channel or user.
    pub(super) fn is_own(&self, call: Call<'_>) -> bool {
        match self {
            Self::Channel(channel) => call
                .caller
                .origin
                .as_ref()
                .is_some_and(|own| own.channel == *channel),
            Self::User(user) => call.caller.actor.is(user),
        }
    }
}

/// Returns the overrides.
///
/// # Errors
///
/// The installation has none.
pub(super) fn overrides(call: Call<'_>) -> Result<&Overrides, CommandError> {
    let overrides = call.context.deps().capabilities.overrides.as_ref();
    overrides.ok_or_else(|| {
        CommandError::unavailable("this installation does not keep changed settings")
    })
}
