//! Tests of the command line's help and version.

use std::{collections::BTreeSet, path::Path};

use ars_bot_tools::agents;

use crate::support::{Machine, run};

/// Names in the sources that are not for users: variables of git, of the model's commands, of builds, images and drills,
/// and of the home directory.
const NOT_A_USERS: [&str; 7] =
    ["GIT_", "CARGO_", "RUSTUP_", "JAVA_HOME", "PYENV_ROOT", "ARS_BUILD", "ARS_BUILT"];
const NOT_A_USERS_EITHER: [&str; 4] = ["ARS_KILL_AT", "HOME", "PATH", "XDG_DATA_HOME"];
/// A word of a test.
const EXAMPLE: &str = "MY_KEY";

fn is_variable(word: &str) -> bool {
    let is_upper = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    (word.contains('_') || word == "PORT")
        && word.starts_with(char::is_alphabetic)
        && word.chars().all(is_upper)
}

fn variables_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| is_variable(word)).map(str::to_owned).collect()
}

/// The texts of a folder's sources.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Returns the names of variables that are whole string literals in the binary's sources.
fn variables_read() -> BTreeSet<String> {
    let bot = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut texts = Vec::new();
    for part in ["app", "ports", "tools", "adapters", "core", "http", "telemetry"] {
        sources(&bot.join(part).join("src"), &mut texts);
    }
    let quoted = texts.iter().flat_map(|text| text.split('"').filter(|word| is_variable(word)));
    let is_a_users = |name: &&str| {
        !NOT_A_USERS.iter().any(|start| name.starts_with(start))
            && !NOT_A_USERS_EITHER.contains(name)
            && *name != EXAMPLE
    };
    quoted.filter(is_a_users).map(str::to_owned).collect()
}

#[tokio::test]
async fn help_and_readme_name_every_variable() {
    let machine = Machine::new();
    let help = run(&mut machine.ars(&["--help"])).await.stdout;
    let told = help.split("Environment").nth(1).unwrap().split("Exit codes").next().unwrap();
    let read = variables_read();
    assert!(read.contains("OPENAI_API_KEY") && read.contains("PORT"), "{read:?}");
    assert_eq!(variables_in(told), read);

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let rows = readme.split("| Variable | |").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(variables_in(rows), read);
}

#[tokio::test]
async fn the_help_of_ask_names_every_agent() {
    let machine = Machine::new();
    let help = run(&mut machine.ars(&["ask", "--help"])).await.stdout;
    let agent = help.split("--agent").nth(1).unwrap().split("\n\n").next().unwrap();
    for name in agents::names().split(", ") {
        assert!(agent.contains(name), "{name}: {agent}");
    }
}

#[tokio::test]
async fn the_help_is_as_reviewed() {
    let machine = Machine::new();
    for (name, arguments) in
        [("help", &["--help"][..]), ("help_ask", &["ask", "--help"]), ("help_serve", &["serve", "--help"])]
    {
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
    let commit = option_env!("ARS_BUILD_COMMIT").unwrap_or("unknown");
    assert_eq!(ended.stdout, format!("ars {} ({commit})\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn every_shell_gets_a_completion_script() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&mut machine.ars(&["completions", shell])).await;
        ended.assert_code(0);
        assert!(ended.stdout.contains("rehearsal") && ended.stdout.contains("serve"), "{shell}");
    }
    let script = run(&mut machine.ars(&["completions", "bash"])).await.stdout;
    let script = machine.file("completion.bash", &script);
    let check = std::process::Command::new("bash").arg("-n").arg(script).status().unwrap();
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
        &["serve", "--listen", "nowhere"],
        &["serve", "--store", "embedded", "--state-url", "http://127.0.0.1:1"],
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
