//! Resources that actions apply to, and their attributes in the policy table.

use ars_types::Visibility;

/// The resource that an action applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    /// A command, independent of the arguments.
    Command,
    /// A run with channel and user.
    Run {
        /// The run's channel id.
        channel: &'a str,
        /// Visibility stamped at dispatch.
        visibility: Visibility,
        /// The user who started the run.
        user: &'a str,
    },
    /// A repository on the code host.
    Repo(&'a str),
    /// An agent that can run.
    Agent(&'a str),
    /// Data shared by the organization.
    OrgScope {
        /// Visibility of the request's channel.
        origin: Visibility,
    },
    /// Data that belongs to a single user.
    UserScope(&'a str),
    /// Data that belongs to a single channel.
    ChannelScope {
        /// Id of the data's channel.
        channel: &'a str,
        /// The channel's visibility, unknown unless it was resolved.
        visibility: Visibility,
    },
    /// Data that belongs to a single repository.
    RepoScope(&'a str),
}

/// Resource kinds, as the table's rows name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A command, independent of the arguments.
    Command,
    /// A run with channel and user.
    Run,
    /// A repository on the code host.
    Repo,
    /// An agent that can run.
    Agent,
    /// Data shared by the organization.
    OrgScope,
    /// Data that belongs to a user.
    UserScope,
    /// Data that belongs to a channel.
    ChannelScope,
    /// Data that belongs to a repository.
    RepoScope,
}

/// Attributes that conditions read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Channel,
    User,
    Repo,
    Agent,
    Visibility,
}

impl<'a> Resource<'a> {
    /// Returns the kind that rows name.
    pub const fn kind(&self) -> ResourceKind {
        match self {
            Self::Command => ResourceKind::Command,
            Self::Run { .. } => ResourceKind::Run,
            Self::Repo(_) => ResourceKind::Repo,
            Self::Agent(_) => ResourceKind::Agent,
            Self::OrgScope { .. } => ResourceKind::OrgScope,
            Self::UserScope(_) => ResourceKind::UserScope,
            Self::ChannelScope { .. } => ResourceKind::ChannelScope,
            Self::RepoScope(_) => ResourceKind::RepoScope,
        }
    }

    pub(super) const fn channel(&self) -> Option<&'a str> {
        match self {
            Self::Run { channel, .. } | Self::ChannelScope { channel, .. } => Some(channel),
            Self::Command | Self::Repo(_) | Self::Agent(_) => None,
            Self::OrgScope { .. } | Self::UserScope(_) | Self::RepoScope(_) => None,
        }
    }

    pub(super) const fn user(&self) -> Option<&'a str> {
        match self {
            Self::Run { user, .. } | Self::UserScope(user) => Some(user),
            Self::Command | Self::Repo(_) | Self::Agent(_) => None,
            Self::OrgScope { .. } | Self::ChannelScope { .. } | Self::RepoScope(_) => None,
        }
    }

    pub(super) const fn repo(&self) -> Option<&'a str> {
        match self {
            Self::Repo(repo) | Self::RepoScope(repo) => Some(repo),
            Self::Command | Self::Run { .. } | Self::Agent(_) => None,
            Self::OrgScope { .. } | Self::UserScope(_) | Self::ChannelScope { .. } => None,
        }
    }

    pub(super) const fn agent(&self) -> Option<&'a str> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Command | Self::Run { .. } | Self::Repo(_) | Self::OrgScope { .. } => None,
            Self::UserScope(_) | Self::ChannelScope { .. } | Self::RepoScope(_) => None,
        }
    }

    /// Returns the visibility of the resource's channel or origin.
    pub(super) const fn visibility(&self) -> Visibility {
        match self {
            Self::Run { visibility, .. } | Self::ChannelScope { visibility, .. } => *visibility,
            Self::OrgScope { origin } => *origin,
            Self::Command | Self::Repo(_) | Self::Agent(_) => Visibility::Unknown,
            Self::UserScope(_) | Self::RepoScope(_) => Visibility::Unknown,
        }
    }
}

impl ResourceKind {
    /// Returns whether this kind of resource has the attribute.
    pub(super) const fn has(self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Channel => matches!(self, Self::Run | Self::ChannelScope),
            Attribute::User => matches!(self, Self::Run | Self::UserScope),
            Attribute::Repo => matches!(self, Self::Repo | Self::RepoScope),
            Attribute::Agent => matches!(self, Self::Agent),
            Attribute::Visibility => {
                matches!(self, Self::Run | Self::ChannelScope | Self::OrgScope)
            }
        }
    }
}
