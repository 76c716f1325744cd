//! The tools as the loop calls them, on an in-memory workspace.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use ars_agent::{Sandbox, ToolContent};
use ars_bot_ports::{
    Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, SearchHit, Workspace, WorkspaceError,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{RunFacilities, Tool, ToolContext, ToolOutput, Toolset};

/// Enough time for any command.
const AMPLE: Duration = Duration::from_secs(3600);

/// Files by path, with three special names.
/// `broken` fails the workspace, `busy` reports no free sandbox, and `stopped` reports a stopped run.
#[derive(Default)]
pub(crate) struct Memory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Commands with the timeouts they were given.
    commands: Mutex<Vec<(String, Duration)>>,
}

impl Memory {
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let files = files
            .iter()
            .map(|(path, content)| ((*path).to_owned(), content.to_vec()))
            .collect();
        Self {
            files: Mutex::new(files),
            ..Self::default()
        }
    }

    fn files(
        &self,
        path: &str,
    ) -> Result<MutexGuard<'_, BTreeMap<String, Vec<u8>>>, WorkspaceError> {
        match path {
            "broken" => Err(WorkspaceError::Infra("the disk is full".into())),
            "busy" => Err(WorkspaceError::Busy),
            "stopped" => Err(WorkspaceError::Cancelled),
            path if path.starts_with('/') => Err(WorkspaceError::PathEscape(path.to_owned())),
            _ => Ok(self.files.lock().unwrap()),
        }
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.files.lock().unwrap()[path].clone()).unwrap()
    }
}

#[async_trait]
impl Workspace for Memory {
    fn repository(&self) -> Option<&str> {
        None
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        Ok(None)
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        Ok(String::new())
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        if cancel.is_cancelled() {
            return Err(WorkspaceError::Cancelled);
        }
        drop(self.files(request.command)?);
        self.commands
            .lock()
            .unwrap()
            .push((request.command.to_owned(), request.timeout));
        let exit_code = request
            .command
            .strip_prefix("exit ")
            .map_or(0, |code| code.parse().unwrap());
        // `flood` prints a long output, `print X` this text, and any other command a word.
        let output = match request.command.strip_prefix("print ") {
            Some(text) => text.to_owned(),
            None if request.command == "flood" => format!("first{}last", "é".repeat(40_000)),
            None => "said\n".into(),
        };
        Ok(ExecOutcome {
            exit_code,
            output,
            truncated: false,
            ..ExecOutcome::default()
        })
    }

    async fn git(
        &self,
        _request: GitRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        Ok(GitAnswer {
            exit_code: 128,
            output: Vec::new(),
            truncated: false,
        })
    }

    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        let files = self.files(path)?;
        let content = files
            .get(path)
            .ok_or_else(|| WorkspaceError::NotFound(path.to_owned()))?;
        let kept = content.len().min(usize::try_from(limit).unwrap());
        Ok((content[..kept].to_vec(), content.len() as u64))
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        self.files(path)?.insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        let files = self.files(path)?;
        let entry = |(path, content): (&String, &Vec<u8>)| Entry {
            path: path.clone(),
            size: content.len() as u64,
        };
        let within = |(name, _): &(&String, &Vec<u8>)| path == "." || name.starts_with(path);
        Ok((
            files.iter().filter(within).take(limit).map(entry).collect(),
            files.len() > limit,
        ))
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        let files = self.files(path)?;
        let hit = |path: &String| SearchHit {
            path: path.clone(),
            line: 1,
            text: pattern.to_owned(),
        };
        let found = files
            .iter()
            .filter(|(_, content)| content.as_slice() == pattern.as_bytes());
        Ok((
            found.map(|(path, _)| hit(path)).take(limit).collect(),
            files.len() > limit,
        ))
    }
}

fn tool(name: &str) -> std::sync::Arc<dyn Tool> {
    Toolset::Full
        .tools()
        .into_iter()
        .find(|tool| tool.spec().name == name)
        .unwrap()
}

/// Returns a context with ample time and nothing else.
pub(crate) fn bare(cancel: &CancellationToken) -> ToolContext<'_> {
    ToolContext {
        workspace: None,
        web: None,
        remaining: AMPLE,
        cancel,
        run: RunFacilities::bare("coding"),
    }
}

async fn call(memory: &Memory, name: &str, input: Value) -> ToolOutput {
    let cancel = CancellationToken::new();
    tool(name)
        .run(
            ToolContext {
                workspace: Some(memory),
                ..bare(&cancel)
            },
            &input,
        )
        .await
}

/// Returns an output's first text.
pub(crate) fn said(output: &ToolOutput) -> &str {
    match &output.content[..] {
        [ToolContent::Text { text }, ..] => text,
        other => panic!("no text first: {other:?}"),
    }
}

/// Returns the text after a success.
async fn ok(memory: &Memory, name: &str, input: Value) -> String {
    let output = call(memory, name, input).await;
    assert!(output.ok, "{output:?}");
    said(&output).to_owned()
}

/// Returns the text after a failure outside the infrastructure.
async fn refused(memory: &Memory, name: &str, input: Value) -> String {
    let output = call(memory, name, input).await;
    assert!(
        !output.ok && output.sandbox == Sandbox::Untouched,
        "{output:?}"
    );
    said(&output).to_owned()
}

#[tokio::test]
async fn invalid_arguments_name_the_field_only() {
    let memory = Memory::with(&[("a", b"x")]);
    for (name, input, words) in [
        ("bash", json!("{\"command\": secret"), "not valid JSON"),
        ("bash", json!(["secret"]), "one JSON object"),
        ("bash", Value::Null, "one JSON object"),
        (
            "bash",
            json!({}),
            "`command` is required and must be a string",
        ),
        (
            "bash",
            json!({"command": ["secret"]}),
            "`command` must be a string",
        ),
        (
            "bash",
            json!({"command": " "}),
            "`command` must not be blank",
        ),
        (
            "bash",
            json!({"command": "x", "timeoutMs": "secret"}),
            "`timeoutMs` must be a whole number",
        ),
        (
            "bash",
            json!({"command": "x", "timeoutMs": -1}),
            "`timeoutMs` must be a whole number",
        ),
        (
            "bash",
            json!({"command": "x", "cwd": "secret"}),
            "no field `cwd`. The fields are: command, timeoutMs",
        ),
        (
            "read_file",
            json!({"path": "a", "offset": 1.5}),
            "`offset` must be a whole number",
        ),
        ("read_file", json!({"path": 7}), "`path` must be a string"),
        ("write_file", json!({"path": "a"}), "`content` is required"),
        (
            "edit_file",
            json!({"path": "a", "old": "x"}),
            "`new` is required",
        ),
        (
            "edit_file",
            json!({"path": "a", "old": "x", "new": "y", "replaceAll": "secret"}),
            "true or false",
        ),
        (
            "list_files",
            json!({"path": {"secret": 1}}),
            "`path` must be a string",
        ),
        ("search", json!({"path": "secret"}), "`pattern` is required"),
        (
            "update_status",
            json!({"checklist": ["secret"]}),
            "`checklist` must be a string",
        ),
    ] {
        let text = refused(&memory, name, input).await;
        assert!(
            text.contains(words) && !text.contains("secret"),
            "{name}: {text}"
        );
    }
    assert!(memory.commands.lock().unwrap().is_empty());
    assert_eq!(memory.text("a"), "x");
}

#[tokio::test]
async fn any_input_has_a_one_line_summary() {
    let memory = Memory::default();
    for tool in Toolset::Full.tools() {
        let name = tool.spec().name;
        for input in [
            json!(null),
            json!("text"),
            json!(7),
            json!([]),
            json!({"command": "a\nb\n", "path": "p", "pattern": "x\ny", "checklist": "[x] a\n[ ] b"}),
        ] {
            assert!(!tool.summary(&input).contains('\n'), "{name}");
            assert!(!call(&memory, &name, input).await.ok, "{name}");
        }
    }
}

#[test]
fn summary_names_command_or_target() {
    for (name, input, summary) in [
        ("bash", json!({"command": "cargo test"}), "$ cargo test"),
        ("bash", json!({"command": "cd x\nls\n"}), "$ cd x ⏎ ls"),
        (
            "read_file",
            json!({"path": "src/a.rs"}),
            "read_file src/a.rs",
        ),
        (
            "write_file",
            json!({"path": "src/a.rs", "content": "x"}),
            "write_file src/a.rs",
        ),
        (
            "edit_file",
            json!({"path": "src/a.rs"}),
            "edit_file src/a.rs",
        ),
        ("list_files", json!({}), "list_files"),
        ("list_files", json!({"path": "src"}), "list_files src"),
        ("search", json!({"pattern": "fn .*"}), "search fn .*"),
        (
            "search",
            json!({"pattern": "fn", "path": "src"}),
            "search fn src",
        ),
        (
            "update_status",
            json!({"checklist": "[x] a\n[ ] b"}),
            "update_status [x] a · [ ] b",
        ),
    ] {
        assert_eq!(tool(name).summary(&input), summary);
    }
}

fn proper_calls(path: &str) -> [(&'static str, Value); 6] {
    [
        ("bash", json!({"command": path})),
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": ""})),
        ("edit_file", json!({"path": path, "old": "a", "new": "b"})),
        ("list_files", json!({"path": path})),
        ("search", json!({"pattern": "x", "path": path})),
    ]
}

#[tokio::test]
async fn missing_workspace_is_reported() {
    let cancel = CancellationToken::new();
    let context = bare(&cancel);
    for (name, input) in proper_calls("a") {
        let output = tool(name).run(context, &input).await;
        assert_eq!(
            output,
            ToolOutput::refused("This run has no working tree."),
            "{name}"
        );
    }
    assert!(
        tool("update_status")
            .run(context, &json!({"checklist": "[ ] a"}))
            .await
            .ok
    );
}

#[tokio::test]
async fn only_broken_workspaces_are_infrastructure() {
    let memory = Memory::default();
    for (name, input) in proper_calls("broken") {
        let output = call(&memory, name, input).await;
        assert_eq!(
            (output.ok, output.sandbox),
            (false, Sandbox::Failed),
            "{name}"
        );
        assert!(said(&output).contains("the disk is full"), "{name}");
    }
    for (name, input) in proper_calls("busy") {
        let output = call(&memory, name, input).await;
        assert_eq!(
            (output.ok, output.sandbox),
            (false, Sandbox::Busy),
            "{name}"
        );
        assert!(said(&output).contains("no sandbox is free"), "{name}");
    }
    for (name, input) in proper_calls("stopped") {
        assert_eq!(refused(&memory, name, input).await, "stopped", "{name}");
    }
    for (name, input) in proper_calls("/etc/passwd") {
        assert!(
            refused(&memory, name, input)
                .await
                .contains("outside the workspace"),
            "{name}"
        );
    }
    assert_eq!(
        refused(&memory, "read_file", json!({"path": "nowhere"})).await,
        "no such file: nowhere"
    );
}

#[tokio::test]
async fn bash_reports_exit_code_and_timeout() {
    let memory = Memory::default();
    let clean = call(&memory, "bash", json!({"command": "true", "timeoutMs": 5})).await;
    assert_eq!(
        clean,
        ToolOutput {
            exit_code: Some(0),
            ..ToolOutput::text("said\n")
        }
    );
    let failed = call(&memory, "bash", json!({"command": "exit 7"})).await;
    assert_eq!(
        failed,
        ToolOutput {
            ok: false,
            exit_code: Some(7),
            ..ToolOutput::text("exit 7:\nsaid\n")
        }
    );
    let timeouts: Vec<_> = memory
        .commands
        .lock()
        .unwrap()
        .iter()
        .map(|(_, timeout)| timeout.as_secs())
        .collect();
    assert_eq!(timeouts, [1, 300]);
}

#[tokio::test]
async fn people_see_what_the_model_is_spared() {
    let memory = Memory::default();
    let progress = call(
        &memory,
        "bash",
        json!({"command": "print 1%\r2%\r\n\u{1b}[1mdone\u{1b}[m"}),
    )
    .await;
    assert_eq!(said(&progress), "2%\r\ndone");
    assert_eq!(
        progress.raw.as_deref(),
        Some("1%\n2%\r\n\u{1b}[1mdone\u{1b}[m")
    );

    let cancel = CancellationToken::new();
    let hide = |text: String| text.replace("secret", "…");
    let run = RunFacilities {
        hide: &hide,
        ..RunFacilities::bare("coding")
    };
    let context = ToolContext {
        workspace: Some(&memory),
        run,
        ..bare(&cancel)
    };
    let split = tool("bash")
        .run(context, &json!({"command": "print sec\u{1b}[0mret"}))
        .await;
    assert_eq!((said(&split), split.raw.as_deref()), ("…", None));
}

#[tokio::test]
async fn inside_the_reserve_no_command_is_started() {
    let memory = Memory::default();
    let cancel = CancellationToken::new();
    let remaining = Duration::from_secs(59);
    let context = ToolContext {
        workspace: Some(&memory),
        remaining,
        ..bare(&cancel)
    };
    let output = tool("bash").run(context, &json!({"command": "true"})).await;
    assert_eq!(
        (output.ok, output.exit_code, output.sandbox),
        (false, Some(124), Sandbox::Untouched)
    );
    assert!(said(&output).starts_with("exit 124:\n"));
    assert!(memory.commands.lock().unwrap().is_empty());
}

#[tokio::test]
async fn read_file_shows_lines_media_and_why_not() {
    let png = [&[0x89, b'P', b'N', b'G', 0][..], &[0; 100]].concat();
    let large = [b"%PDF-".as_slice(), &vec![0; 11 << 20]].concat();
    let log = b"line\n".repeat(3 << 20);
    let memory = Memory::with(&[
        ("t", "a\nü\nc\n".as_bytes()),
        ("p.png", &png),
        ("d.pdf", b"%PDF-1.7 \0"),
        ("large.pdf", &large),
        ("b", b"\x7fELF\0"),
        ("log", &log),
    ]);
    assert_eq!(
        ok(&memory, "read_file", json!({"path": "t"})).await,
        "    1\ta\n    2\tü\n    3\tc\n"
    );
    let middle = ok(
        &memory,
        "read_file",
        json!({"path": "t", "offset": 2, "limit": 1}),
    )
    .await;
    assert_eq!(middle, "    2\tü\n[lines 2 to 2 of 3; go on with offset 3]");
    let png = call(&memory, "read_file", json!({"path": "p.png"})).await;
    assert!(
        matches!(&png.content[..], [ToolContent::Image { media_type, .. }] if media_type == "image/png")
    );
    let pdf = call(&memory, "read_file", json!({"path": "d.pdf"})).await;
    assert!(
        matches!(&pdf.content[..], [ToolContent::Document { data, .. }] if data == "JVBERi0xLjcgAA==")
    );
    assert!(
        refused(&memory, "read_file", json!({"path": "large.pdf"}))
            .await
            .contains("at most 10485760")
    );
    assert_eq!(
        refused(&memory, "read_file", json!({"path": "b"})).await,
        "b is a binary file of 5 bytes."
    );
    let log = ok(&memory, "read_file", json!({"path": "log", "limit": 1})).await;
    assert!(
        log.ends_with("\n[the file has 15728640 bytes; only the first 10485761 are read]"),
        "{log}"
    );
}

#[tokio::test]
async fn files_are_written_edited_listed_and_found() {
    let memory = Memory::default();
    let written = ok(
        &memory,
        "write_file",
        json!({"path": "d/a", "content": "one\ntwo\n"}),
    )
    .await;
    assert_eq!(written, "Wrote d/a: 2 lines, 8 bytes.");
    let edited = ok(
        &memory,
        "edit_file",
        json!({"path": "d/a", "old": "two", "new": "2"}),
    )
    .await;
    assert_eq!(
        (edited.as_str(), memory.text("d/a").as_str()),
        ("Edited d/a: 1 replaced.", "one\n2\n")
    );
    let ambiguous = refused(
        &memory,
        "edit_file",
        json!({"path": "d/a", "old": "\n", "new": ""}),
    )
    .await;
    assert!(ambiguous.contains("2 times"), "{ambiguous}");
    ok(
        &memory,
        "edit_file",
        json!({"path": "d/a", "old": "\n", "new": "", "replaceAll": true}),
    )
    .await;
    assert_eq!(memory.text("d/a"), "one2");
    assert_eq!(
        ok(&memory, "list_files", json!({})).await,
        "d/a (4 bytes)\n"
    );
    assert_eq!(
        ok(&memory, "list_files", json!({"path": "x"})).await,
        "(no files that git does not ignore)"
    );
    assert_eq!(
        ok(&memory, "search", json!({"pattern": "one2"})).await,
        "d/a:1: one2\n"
    );
    assert_eq!(
        ok(&memory, "search", json!({"pattern": "one"})).await,
        "(no matches)"
    );
}

#[tokio::test]
async fn binary_file_is_not_edited() {
    let memory = Memory::with(&[("latin1", b"caf\xe9")]);
    let text = refused(
        &memory,
        "edit_file",
        json!({"path": "latin1", "old": "caf", "new": "x"}),
    )
    .await;
    assert_eq!(text, "latin1 is not UTF-8 text.");
    assert_eq!(memory.files.lock().unwrap()["latin1"], b"caf\xe9");
}

#[tokio::test]
async fn truncated_lists_are_marked() {
    let memory = Memory::default();
    for n in 0..1_001 {
        memory
            .files
            .lock()
            .unwrap()
            .insert(format!("{n:04}"), b"x".to_vec());
    }
    let listed = ok(&memory, "list_files", json!({})).await;
    assert!(
        listed.contains("0999 (1 bytes)\n[only the first 1000;") && !listed.contains("1000 ("),
        "{listed}"
    );
    let found = ok(&memory, "search", json!({"pattern": "x"})).await;
    assert!(found.ends_with(
        "0199:1: x\n[there may be more than these 200; narrow the pattern or the path]"
    ));
}

#[tokio::test]
async fn an_empty_checklist_is_ignored() {
    let memory = Memory::default();
    assert_eq!(
        ok(&memory, "update_status", json!({"checklist": " \n"})).await,
        "Ignored: the checklist is empty."
    );
    assert_eq!(
        ok(&memory, "update_status", json!({"checklist": "[~] a"})).await,
        "Shown."
    );
}

#[tokio::test]
async fn flood_is_kept_in_a_file() {
    let memory = Memory::default();
    let text = ok(&memory, "bash", json!({ "command": "flood" })).await;
    assert!(text.starts_with("firsté") && text.ends_with("last") && text.chars().count() <= 30_000);
    let path = text
        .split("output is in ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    assert!(path.starts_with(".ars/outputs/"), "{path}");
    let kept = memory.text(path);
    assert_eq!(kept.chars().count(), 40_009);
    assert!(kept.starts_with("first") && kept.ends_with("last"));
}
