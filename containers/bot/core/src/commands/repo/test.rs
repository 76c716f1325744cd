//! `repo.test`: runs a resident's test command, without a model.

use ars_commands::Definition;
use ars_resident::wire::OpName;

use super::{
    super::{call::Call, command::Command, error::CommandError},
    operation::{self, Ended, Input},
};

pub(in super::super) struct Test;

impl Command for Test {
    const DEFINITION: Definition = operation::definition(
        "repo.test",
        "Runs the test command of a resident, without a model.",
    );
    type Input = Input;
    type Output = Ended;

    async fn run(call: Call<'_>, input: Input) -> Result<Ended, CommandError> {
        operation::run(call, OpName::Test, input).await
    }

    fn text(output: &Ended) -> String {
        operation::text(output)
    }
}
