//! Defines a command.

use std::time::Duration;

use crate::{Capability, Field, Input, Surfaces};

/// The option of commands that can only plan.
pub const DRY_RUN: &str = "dryRun";

/// A command, as data. All surfaces derive from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// Command id: `<group>.<verb>`.
    pub id: &'static str,
    /// A sentence for help, tool lists and the reference.
    pub about: &'static str,
    /// Positional arguments on text surfaces, in order. They are plain fields in JSON.
    pub args: &'static [Field],
    /// Named options, in order.
    pub options: &'static [Field],
    /// Rules between fields. The handler checks them.
    pub rules: &'static [FieldRule],
    /// The action that the policy decides about.
    pub action: &'static str,
    /// The resource that the action concerns.
    pub target: Target,
    /// What an invocation does to stored or live data.
    pub effect: Effect,
    /// Whether it needs no confirmation although it is destructive.
    pub is_urgent: bool,
    /// The surfaces that offer it.
    pub surfaces: Surfaces,
    /// The capability that it needs.
    pub capability: Option<Capability>,
    /// Whether an invocation by a message leaves a run record.
    pub leaves_run: bool,
    /// A second reply to a message, once the effect has settled.
    pub settle: Option<Settle>,
}

/// The resource that a command's action is decided about, before the input is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The command itself. The handler decides about data that the command finds.
    Command,
    /// The agent with this name.
    Agent(&'static str),
    /// The repository that this argument names.
    Repo(&'static str),
}

/// A rule between fields, for describing the command routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRule {
    /// The first field requires the second.
    Requires(&'static str, &'static str),
    /// Requires at least one of these fields.
    AnyOf(&'static [&'static str]),
    /// The field is required if the caller has no channel. It is always required, or if another
    /// field has this word.
    OfCaller {
        /// The required field.
        field: &'static str,
        /// The other field and the word.
        when: Option<(&'static str, &'static str)>,
    },
}

/// What an invocation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The command only reads.
    Read,
    /// The command changes data.
    Write,
    /// It removes data or interrupts work. Surfaces treat it as a write and mark it.
    Destructive,
}

/// The polls for a second reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settle {
    /// Interval between two polls.
    pub every: Duration,
    /// Time after which polling ends.
    pub within: Duration,
}

impl Effect {
    /// Returns whether an invocation changes anything.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::Destructive)
    }

    /// Returns the name for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

impl Definition {
    /// Returns a command that reads, without arguments and options, on every surface.
    pub const fn read(id: &'static str, action: &'static str, about: &'static str) -> Self {
        Self {
            id,
            about,
            args: &[],
            options: &[],
            rules: &[],
            action,
            target: Target::Command,
            effect: Effect::Read,
            is_urgent: false,
            surfaces: Surfaces::ALL,
            capability: None,
            leaves_run: false,
            settle: None,
        }
    }

    /// Returns a command that writes, without arguments and options, on every surface.
    pub const fn write(id: &'static str, action: &'static str, about: &'static str) -> Self {
        Self {
            effect: Effect::Write,
            ..Self::read(id, action, about)
        }
    }

    /// Returns a command that removes or interrupts, without arguments and options, on every surface.
    pub const fn destructive(id: &'static str, action: &'static str, about: &'static str) -> Self {
        Self {
            effect: Effect::Destructive,
            ..Self::read(id, action, about)
        }
    }

    /// Returns the definition with these arguments.
    #[must_use]
    pub const fn with_args(self, args: &'static [Field]) -> Self {
        Self { args, ..self }
    }

    /// Returns the definition with these options.
    #[must_use]
    pub const fn with_options(self, options: &'static [Field]) -> Self {
        Self { options, ..self }
    }

    /// Returns the definition with rules between the fields.
    #[must_use]
    pub const fn with_rules(self, rules: &'static [FieldRule]) -> Self {
        Self { rules, ..self }
    }

    /// Returns the definition on these surfaces.
    #[must_use]
    pub const fn on(self, surfaces: Surfaces) -> Self {
        Self { surfaces, ..self }
    }

    /// Returns the definition with a capability that it needs.
    #[must_use]
    pub const fn needing(self, capability: Capability) -> Self {
        Self {
            capability: Some(capability),
            ..self
        }
    }

    /// Returns the definition with another resource.
    #[must_use]
    pub const fn about_target(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// Marks a destructive command that helps only at once, so that nothing asks for a confirmation.
    #[must_use]
    pub const fn urgent(self) -> Self {
        Self {
            is_urgent: true,
            ..self
        }
    }

    /// Marks a command that leaves a run record when a message invokes it.
    #[must_use]
    pub const fn leaving_run(self) -> Self {
        Self {
            leaves_run: true,
            ..self
        }
    }

    /// Marks a command that replies twice to a message.
    #[must_use]
    pub const fn settling(self, settle: Settle) -> Self {
        Self {
            settle: Some(settle),
            ..self
        }
    }

    /// Returns whether any input can need a confirmation.
    pub const fn may_need_confirmation(&self) -> bool {
        matches!(self.effect, Effect::Destructive) && !self.is_urgent
    }

    /// Returns whether an invocation needs a confirmation where a person can give one. A plan
    /// changes nothing.
    pub fn needs_confirmation(&self, input: &Input) -> bool {
        let is_plan = input
            .values
            .get(DRY_RUN)
            .is_some_and(|value| *value == true);
        self.may_need_confirmation() && !is_plan
    }

    /// Returns the id's part before the dot.
    pub fn group(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(group, _)| group)
    }

    /// Returns the id's part after the dot.
    pub fn verb(&self) -> &'static str {
        self.id.split_once('.').map_or("", |(_, verb)| verb)
    }

    /// Returns the MCP tool name, `<group>_<verb>`.
    pub fn tool_name(&self) -> String {
        self.id.replace('.', "_")
    }

    /// Returns arguments and options.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.args.iter().chain(self.options)
    }

    /// Returns the argument or option with this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields().find(|field| field.name == name)
    }
}
