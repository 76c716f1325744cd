//! `repo.build`: runs a resident's build command, without a model.

use ars_commands::Definition;
use ars_resident::wire::OpName;

use super::{
    super::{call::Call, command::Command, error::CommandError},
    operation::{self, Ended, Input},
};

pub(in super::super) struct Build;

impl Command for Build {
    const DEFINITION: Definition = operation::definition(
        "repo.build",
        "Runs the build command of a resident, without a model.",
    );
    type Input = Input;
    type Output = Ended;

    async fn run(call: Call<'_>, input: Input) -> Result<Ended, CommandError> {
        operation::run(call, OpName::Build, input).await
    }

    fn text(output: &Ended) -> String {
        operation::text(output)
    }
}
