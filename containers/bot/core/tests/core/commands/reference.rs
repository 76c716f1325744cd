//! The command reference page, which is generated from the definitions.

use std::sync::Arc;

use ars_commands::{Definition, Surface, reference};

use super::support::desk_with;
use crate::{
    commands::schedules,
    support::{with_host, with_residents},
};

const PAGE: &str = include_str!("../../../../../../docs/reference/commands.md");
/// The line before the generated part.
const MARK: &str = "<!-- Generated from the definitions. -->\n";

/// To update the page, replace the part after the mark with the expected text from the failure.
#[tokio::test]
async fn page_equals_the_definitions() {
    let desk = desk_with(
        Vec::new(),
        |capabilities| {
            let capabilities =
                with_residents(&Arc::default())(schedules::with_schedules(capabilities));
            with_host(&Arc::default())(capabilities)
        },
        |settings| settings,
    );
    let commands = desk.commands();
    // The command line has every command.
    let definitions: Vec<&'static Definition> = commands.registry().on(Surface::Cli).collect();
    let (_, generated) = PAGE.split_once(MARK).unwrap();
    let expected = reference(&definitions);
    assert!(
        generated == expected,
        "the page must end in:\n{MARK}{expected}"
    );
}
