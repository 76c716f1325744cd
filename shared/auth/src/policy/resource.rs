//! What something is done to, and the attributes by which the policy table judges it.

use ars_types::Visibility;

/// What something is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource<'a> {
    /// A command as such, before anything it names is known.
    Command,
    /// A run.
    Run {
        /// Its channel.
        channel: &'a str,
        /// The stamp it got at dispatch.
        visibility: Visibility,
        /// Whose it is.
        user: &'a str,
    },
    /// A repository.
    Repo(&'a str),
    /// An agent.
    Agent(&'a str),
    /// What the whole organization shares.
    OrgScope {
        /// Of the channel from which it is asked.
        origin: Visibility,
    },
    /// What belongs to one user.
    UserScope(&'a str),
    /// What belongs to one channel.
    ChannelScope {
        /// The channel.
        channel: &'a str,
        /// Who may see it; unknown unless it was found out.
        visibility: Visibility,
    },
    /// What belongs to one repository.
    RepoScope(&'a str),
}

/// The kinds of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A command.
    Command,
    /// A run.
    Run,
    /// A repository.
    Repo,
    /// An agent.
    Agent,
    /// What the organization shares.
    OrgScope,
    /// What belongs to a user.
    UserScope,
    /// What belongs to a channel.
    ChannelScope,
    /// What belongs to a repository.
    RepoScope,
}

/// What a condition may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Channel,
    User,
    Repo,
    Agent,
    Visibility,
}

impl<'a> Resource<'a> {
    /// Its kind.
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

    /// Of the channel it is in or comes from; unknown is never more than that.
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
    /// Whether resources of this kind have the attribute.
    pub(super) const fn has(self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Channel => matches!(self, Self::Run | Self::ChannelScope),
            Attribute::User => matches!(self, Self::Run | Self::UserScope),
            Attribute::Repo => matches!(self, Self::Repo | Self::RepoScope),
            Attribute::Agent => matches!(self, Self::Agent),
            Attribute::Visibility => matches!(self, Self::Run | Self::ChannelScope | Self::OrgScope),
        }
    }
}
