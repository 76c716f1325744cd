//! What the command line shows of itself.

use crate::support::{Machine, run};

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
async fn a_wrong_invocation_exits_2_with_nothing_on_stdout() {
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
