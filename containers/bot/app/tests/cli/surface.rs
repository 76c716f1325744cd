//! Tests the command line's help and version.

use std::{collections::BTreeSet, path::Path};

use ars_bot_tools::agents;

use crate::support::{Machine, run};

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split(start).nth(1).unwrap().split(end).next().unwrap()
}

/// Returns the variable names in a text: capitals, digits and underscores.
fn variables_in(text: &str) -> BTreeSet<String> {
    let is_upper =
        |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_variable = |word: &&str| {
        word.starts_with(char::is_alphabetic)
            && word.chars().all(is_upper)
            && (word.contains('_') || *word == "PORT")
    };
    words.filter(is_variable).map(str::to_owned).collect()
}

#[tokio::test]
async fn help_readme_and_reference_name_the_same_variables() {
    let machine = Machine::new();
    let help = run(&mut machine.ars(&["--help"])).await.stdout;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap();
    let table = |file: &str, head: &str| {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        variables_in(between(&text, head, "\n\n"))
    };
    let told = variables_in(between(&help, "Environment", "Exit codes"));
    assert_eq!(table("docs/guide/configure.md", "| Variable | |"), told);
    let mut listed = table("docs/reference/environment.md", "| Variable | Use |");
    listed.retain(|name| !["ARS_BUILD_STAMP", "XDG_DATA_HOME"].contains(&name.as_str()));
    assert_eq!(listed, told);
}

#[tokio::test]
async fn the_help_of_ask_names_every_agent() {
    let machine = Machine::new();
    let help = run(&mut machine.ars(&["ask", "--help"])).await.stdout;
    let agent = help
        .split("--agent")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    for name in agents::names().split(", ") {
        assert!(agent.contains(name), "{name}: {agent}");
    }
}

#[tokio::test]
async fn the_help_is_as_reviewed() {
    let machine = Machine::new();
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_ask", &["ask", "--help"]),
        ("help_serve", &["serve", "--help"]),
    ] {
        let ended = run(machine.ars(arguments).env_remove("ARS_DATA_DIR")).await;
        ended.assert_code(0);
        insta::assert_snapshot!(name, ended.stdout);
    }
}

#[tokio::test]
async fn the_version_names_the_release_and_the_commit() {
    let machine = Machine::new();
    let ended = run(&mut machine.ars(&["--version"])).await;
    ended.assert_code(0);
    let build = option_env!("ARS_BUILD_COMMIT").unwrap_or("built without a commit");
    assert_eq!(
        ended.stdout,
        format!("ars {} ({build})\n", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn every_shell_gets_a_completion_script() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&mut machine.ars(&["completions", shell])).await;
        ended.assert_code(0);
        assert!(
            ended.stdout.contains("rehearsal") && ended.stdout.contains("serve"),
            "{shell}"
        );
    }
    let script = run(&mut machine.ars(&["completions", "bash"])).await.stdout;
    let script = machine.file("completion.bash", &script);
    let check = std::process::Command::new("bash")
        .arg("-n")
        .arg(script)
        .status()
        .unwrap();
    assert!(check.success());
}

#[tokio::test]
async fn invalid_invocation_exits_2() {
    let machine = Machine::new();
    for arguments in [
        &["ask"][..],
        &["ask", "hi", "--model", "no-slash"],
        &["ask", "hi", "--effort", "lots"],
        &["ask", "hi", "--ref", "--upload-pack=x"],
        &["ask", "hi", "--colour"],
        &["serve", "--listen", "localhost"],
        &[
            "serve",
            "--store",
            "embedded",
            "--state-url",
            "http://127.0.0.1:1",
        ],
        &["fly"],
    ] {
        let ended = run(machine.ars(arguments).env("PORT", "0")).await;
        ended.assert_code(2);
        assert_eq!(ended.stdout, "", "{arguments:?}");
        assert!(
            ended.stderr.lines().any(|line| line.starts_with("error")),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}
