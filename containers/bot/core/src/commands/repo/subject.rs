//! A command's repository and resident, and resident failures.

use ars_auth::policy::Resource as PolicyResource;
use ars_bot_ports::{Residents, ResidentsError};
use ars_commands::{Capability, Definition, Field, Kind, names};
use ars_resident::{
    names::{Resource, TableCommand},
    refusal::{Refusal, Token},
};
use ars_types::RepoSlug;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::{call::Call, error::CommandError};

/// Maximum characters of a table command.
const TABLE_COMMAND_MAX: usize = 2_000;
/// The field kind for a table command.
const TABLE_COMMAND: Kind = Kind::Text {
    min: 1,
    max: TABLE_COMMAND_MAX,
};

/// A command's repository field.
pub(super) const SLUG: Field =
    Field::required("slug", Kind::Name(&names::REPOSITORY), "the repository");
/// The command that tests.
pub(super) const TEST: Field = Field::optional("test", TABLE_COMMAND, "the command that tests");
/// The command that builds.
pub(super) const BUILD: Field = Field::optional("build", TABLE_COMMAND, "the command that builds");
/// The command that installs dependencies.
pub(super) const INSTALL: Field = Field::optional(
    "install",
    TABLE_COMMAND,
    "the command that installs dependencies",
);
/// A command that only plans.
pub(super) const DRY_RUN: Field =
    Field::optional(ars_commands::DRY_RUN, Kind::Boolean, "only plans");

/// The administrators' action.
pub(super) const MANAGE: &str = "repo:write";

/// Input for a command that discards resident data.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Discard {
    pub(super) slug: RepoSlug,
    #[serde(default)]
    pub(super) dry_run: bool,
}

/// Defines a command that discards resident data.
pub(super) const fn discarding(id: &'static str, about: &'static str) -> Definition {
    Definition::destructive(id, MANAGE, about)
        .with_args(&[SLUG])
        .with_options(&[DRY_RUN])
        .needing(Capability::Residents)
        .leaving_run()
}

/// Returns the installation's residents.
pub(super) fn residents<'a>(call: &Call<'a>) -> Result<&'a dyn Residents, CommandError> {
    let residents = call
        .context
        .deps()
        .capabilities
        .commands
        .residents
        .as_deref();
    residents.ok_or_else(|| CommandError::unavailable("no residents are configured"))
}

/// Returns the resource for a repository that the caller may administrate.
pub(super) fn managed(call: &Call<'_>, slug: &RepoSlug) -> Result<Resource, CommandError> {
    call.permits(MANAGE, &PolicyResource::Repo(slug.as_str()))?;
    resource(slug)
}

/// Returns a repository's resource.
pub(super) fn resource(slug: &RepoSlug) -> Result<Resource, CommandError> {
    let too_long = |_invalid| CommandError::invalid("slug is too long for a resident");
    Resource::for_repo(slug).map_err(too_long)
}

/// Parses a table command. `name` is the field's name.
pub(super) fn table_command(name: &str, text: String) -> Result<TableCommand, CommandError> {
    TableCommand::parse(text)
        .map_err(|invalid| CommandError::invalid(format!("{name} must {}", invalid.rule)))
}

/// Returns an answer's members.
pub(super) fn members<T: Serialize>(answer: &T) -> Result<Map<String, Value>, CommandError> {
    match serde_json::to_value(answer) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(CommandError::internal(&"the answer is no object")),
        Err(error) => Err(CommandError::internal(&error)),
    }
}

/// Maps a failed call to a command error.
pub(super) fn failed(error: ResidentsError) -> CommandError {
    match error {
        ResidentsError::Refused(refusal) => refused(&refusal),
        ResidentsError::Busy => CommandError::unavailable(
            "fleet-busy: no capacity is free right now; try again in a moment",
        ),
        ResidentsError::Cancelled => CommandError::stopped(),
        error @ (ResidentsError::Unreachable(_) | ResidentsError::Failed(_)) => {
            tracing::error!(error = %error, "residents not available to a command");
            CommandError::unavailable(error.to_string())
        }
    }
}

/// Maps a rejection by status. The token begins the text.
fn refused(refusal: &Refusal) -> CommandError {
    let text = refusal.error();
    match (refusal.token(), refusal.status()) {
        (Token::NotOnboarded, _) => {
            CommandError::not_found(format!("{text}; `repo onboard` adds a repository"))
        }
        (Token::Unauthorized | Token::Forbidden, _) => {
            tracing::error!(error = text, "residents reject the configured token");
            CommandError::unavailable("the residents reject the configured token")
        }
        (_, 404) => CommandError::not_found(text),
        (_, 409 | 429) => CommandError::conflict(text),
        (_, 400) => CommandError::invalid(text),
        _ => CommandError::unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_have_the_documented_codes() {
        let code = |error: ResidentsError| failed(error).code.as_str();
        for token in Token::ALL {
            let expected = match token.parts().1 {
                404 => "not_found",
                409 | 429 => "conflict",
                400 => "invalid_input",
                _ => "unavailable",
            };
            let expected = if token == Token::Unauthorized {
                "unavailable"
            } else {
                expected
            };
            let expected = if token == Token::Forbidden {
                "unavailable"
            } else {
                expected
            };
            assert_eq!(
                code(Refusal::new(token, "why").into()),
                expected,
                "{token:?}"
            );
        }
        assert_eq!(code(ResidentsError::Busy), "unavailable");
        assert_eq!(
            code(ResidentsError::Unreachable("refused".into())),
            "unavailable"
        );
        assert_eq!(code(ResidentsError::Failed("500".into())), "unavailable");
    }
}
