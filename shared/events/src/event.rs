//! The event kinds and their fields (docs/reference/events.md#kinds).
//!
//! Writers build `EventBody`. Readers of stored streams parse JSON instead, because they must accept unknown kinds.

use ars_types::{Cgroup, SandboxKind, SandboxNetwork, StopMode, TreePlace, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A published event, numbered by the registry and stamped by the runner's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Kind and fields.
    #[serde(flatten)]
    pub body: EventBody,
    /// Position in the run's stream, from 1, without gaps.
    pub seq: u64,
    /// Time by the runner's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<UnixMillis>,
    /// The span the event belongs to.
    #[serde(default, rename = "spanId", skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}

/// The kind of an event with its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum EventBody {
    /// The request: the first event of a run, and one more per steered follow-up.
    Input {
        /// The message, with a count suffix for attachments.
        text: String,
        /// Files that came with it, without their content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachedFile>,
        /// Where the message came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<InputSource>,
    },
    /// One earlier turn of the thread, prefixed `user:` or `assistant:`.
    Context {
        /// The turn.
        text: String,
    },
    /// Metadata of the run. Published once, after the input.
    RunMeta {
        /// Name of the agent; `command` for an inline command run.
        agent: String,
        /// `provider/model`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Effort level.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// Trace of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_id: Option<String>,
        /// Name of the repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
        /// Ref at which the workspace was prepared.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        git_ref: Option<String>,
        /// Commit of the workspace when the run started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<String>,
        /// Number of the pull request that the run is about, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<u64>,
        /// Sandbox of the commands, if the agent has a workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<SandboxKind>,
        /// Why a stronger sandbox was skipped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox_skipped: Option<String>,
        /// Network of the commands, if the agent has a workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<SandboxNetwork>,
        /// Control group of the commands, if the agent has a workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cgroup: Option<Cgroup>,
        /// Place of the working tree, if the agent has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<TreePlace>,
    },
    /// Model text beside tool calls; never the final answer.
    Assistant {
        /// The text.
        text: String,
    },
    /// A tool call starts.
    ToolCall {
        /// Name of the tool.
        tool: String,
        /// `$ <command>` for bash, else the name and its target.
        summary: String,
        /// Pairs the call with its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The full command of a bash call, capped at 4000 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// A tool call ended.
    ToolResult {
        /// Name of the tool.
        tool: String,
        /// False if the tool failed, or if a `bash` command exited with another code than 0.
        ok: bool,
        /// First non-empty line of the output, and its size.
        summary: String,
        /// Pairs the result with its call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// Exit code of a `bash` command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// The output, capped at 8000 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// True if the sandbox or the transport failed, not the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        infra: Option<bool>,
    },
    /// A change in the run's course.
    RunNote {
        /// Kind of the note.
        kind: NoteKind,
        /// Description for people.
        summary: String,
        /// Stop mode, for the stop kinds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<StopMode>,
        /// Actor that requested the stop, for `stop_requested`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
        /// Time of the first dropped record in milliseconds, for `spans_dropped`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Time of the last dropped record in milliseconds, for `spans_dropped`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<u64>,
    },
    /// The model loaded a skill. Published between the call and its result.
    SkillUse {
        /// Name of the skill.
        skill: String,
        /// Purpose of the skill.
        description: String,
        /// Agent that loaded it.
        agent: String,
        /// Source named by the skill's file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Repository and commit from which it was copied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upstream: Option<SkillUpstream>,
        /// Size of the body in bytes.
        body_bytes: u64,
    },
    /// An artifact of a review for human readers.
    ReviewArtifact {
        /// Kind of the artifact.
        artifact: ArtifactKind,
        /// Program that produced it.
        powered_by: DiffProvider,
        /// Ref on the other side of the diff.
        base_ref: String,
        /// The unified diff, capped.
        diff: String,
        /// The diff was cut.
        truncated: bool,
        /// Summary by an abridger.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Tokens used by an abridger.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meat_tokens: Option<MeatTokens>,
    },
    /// The description of a change by the agent.
    /// Published between the call and its result; the last one counts.
    PrDescription {
        /// The input of the call.
        description: Map<String, Value>,
    },
    /// The pull request of a coding run was opened or edited.
    PrOpened {
        /// Address of its page.
        url: String,
        /// Number.
        number: u64,
        /// It was opened; otherwise an open one was edited.
        created: bool,
    },
    /// The final answer. Published once, before finish and reply; absent if the run failed.
    Answer {
        /// The answer in canonical Markdown (`ars-answers`).
        text: String,
        /// The model's own text, if it differs: other emphasis, or blocks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    /// A span starts.
    SpanStart {
        /// Id of the span within the run.
        span_id: String,
        /// Id of the enclosing span.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_span_id: Option<String>,
        /// Such as `model.turn` or `tool.bash`.
        name: String,
        /// Attributes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attrs: Option<Map<String, Value>>,
    },
    /// A span ended.
    SpanEnd {
        /// Id of the span within the run.
        span_id: String,
        /// Id of the enclosing span.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_span_id: Option<String>,
        /// Such as `model.turn` or `tool.bash`.
        name: String,
        /// Attributes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attrs: Option<Map<String, Value>>,
        /// Start time.
        started_at: UnixMillis,
        /// Duration in milliseconds.
        duration_ms: i64,
        /// Whether it succeeded.
        status: SpanStatus,
        /// Error class or redacted message of a failed span.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// A file that came with an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedFile {
    /// Name as its sender named it.
    pub name: String,
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Origin of an input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InputSource {
    /// Link to the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Channel id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// User id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// Repository and commit from which a skill was copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillUpstream {
    /// The repository.
    pub repo: String,
    /// The commit.
    pub commit: String,
}

/// The kinds of a review's artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// The reviewed change as a diff.
    ReadingDiff,
}

/// Producer of a reading diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffProvider {
    /// Git: the whole change.
    Git,
    /// The abridger.
    Meat,
}

/// Tokens used by an abridger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeatTokens {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
}

/// The kinds of a run note (docs/reference/events.md#run-notes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The budget is nearly spent; the model was asked to wrap up.
    WrapUp,
    /// The time budget ended the run.
    TimeBudgetExhausted,
    /// The turn budget ended the run.
    TurnBudgetExhausted,
    /// Repeated infrastructure failure ended the run.
    SandboxDead,
    /// No sandbox was free.
    FleetBusy,
    /// The run waits for a free slot, or waited for one.
    Queued,
    /// A stop was requested.
    StopRequested,
    /// The run stopped.
    Stopped,
    /// Span records were dropped to stay within a bound.
    SpansDropped,
    /// The reviewed branch moved.
    HeadMoved,
    /// An external MCP server contributed nothing.
    McpUnavailable,
    /// A follow-up was given to the model.
    FollowUp,
    /// Another process continues the run.
    Resumed,
    /// Older turns were summarized or dropped to fit the model's window.
    Compacted,
    /// The money cap ended the run.
    MoneyBudgetExhausted,
    /// The proxy of a command refused a host.
    EgressRefused,
    /// The thread's former tree was removed to free the disk, and its repository was cloned again.
    TreeRemoved,
    /// The working tree is elsewhere than expected, or was made again.
    Tree,
}

/// The actor that requested a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Surface of the request.
    pub kind: ActorKind,
    /// Restricted to `[A-Za-z0-9:@._-]{1,128}`.
    pub id: String,
}

/// Surfaces through which a stop can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// The dashboard.
    Access,
    /// The MCP ingress.
    Mcp,
    /// The command line.
    Cli,
    /// A chat platform.
    Chat,
}

impl ActorKind {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Mcp => "mcp",
            Self::Cli => "cli",
            Self::Chat => "chat",
        }
    }

    /// Returns the kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Access, Self::Mcp, Self::Cli, Self::Chat]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// Maximum characters of an actor id.
const ACTOR_ID_MAX: usize = 128;

impl Actor {
    /// Removes characters that an actor id may not have; the id is `unknown` if none remain.
    pub fn new(kind: ActorKind, id: &str) -> Self {
        let kept: String = id
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || ":@._-".contains(*c))
            .take(ACTOR_ID_MAX)
            .collect();
        Self {
            kind,
            id: if kept.is_empty() {
                "unknown".into()
            } else {
                kept
            },
        }
    }
}

/// Result of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanStatus {
    /// The span succeeded.
    Ok,
    /// The span failed.
    Error,
}

impl EventBody {
    /// Returns an input. The text ends with the number of files, if there are any.
    pub fn input(text: &str, attachments: Vec<AttachedFile>, source: Option<InputSource>) -> Self {
        Self::Input {
            text: with_attachment_count(text, attachments.len()),
            attachments,
            source,
        }
    }

    /// Returns an answer with its Markdown as text.
    pub fn answer(text: impl Into<String>) -> Self {
        Self::Answer {
            text: text.into(),
            raw: None,
        }
    }

    /// Returns a note without stop or span fields.
    pub fn note(kind: NoteKind, summary: impl Into<String>) -> Self {
        Self::RunNote {
            kind,
            summary: summary.into(),
            mode: None,
            actor: None,
            from: None,
            to: None,
        }
    }
}

/// Returns a message's text with the number of its files, if there are any.
pub fn with_attachment_count(text: &str, count: usize) -> String {
    let suffix = match count {
        0 => return text.to_owned(),
        1 => "(+1 attachment)".to_owned(),
        count => format!("(+{count} attachments)"),
    };
    format!("{text} {suffix}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_event_json_is_pinned() {
        let event = Event {
            body: EventBody::ToolResult {
                tool: "bash".into(),
                ok: false,
                summary: "no".into(),
                call_id: Some("c1".into()),
                exit_code: Some(2),
                output: None,
                infra: None,
            },
            seq: 7,
            at: Some(1_700_000_000_000),
            span_id: None,
        };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"type":"tool_result","tool":"bash","ok":false,"summary":"no","callId":"c1","exitCode":2,"seq":7,"at":1700000000000}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }

    #[test]
    fn input_names_its_files() {
        let file = |name: &str| AttachedFile {
            name: name.into(),
            media_type: "image/png".into(),
            bytes: 3,
        };
        for (text, files, json) in [
            ("a", vec![], r#"{"type":"input","text":"a"}"#),
            (
                "",
                vec![file("x")],
                r#"{"type":"input","text":"(+1 attachment)","attachments":[{"name":"x","mediaType":"image/png","bytes":3}]}"#,
            ),
        ] {
            let input = EventBody::input(text, files, None);
            assert_eq!(serde_json::to_string(&input).unwrap(), json);
        }
        let two = EventBody::input("a", vec![file("x"), file("y")], None);
        assert!(matches!(two, EventBody::Input { text, .. } if text == "a (+2 attachments)"));
    }

    #[test]
    fn stored_skill_and_artifact_json_is_pinned() {
        let skill = EventBody::SkillUse {
            skill: "quality".into(),
            description: "d".into(),
            agent: "review".into(),
            source: None,
            upstream: Some(SkillUpstream {
                repo: "o/n".into(),
                commit: "abc1234".into(),
            }),
            body_bytes: 3,
        };
        let artifact = EventBody::ReviewArtifact {
            artifact: ArtifactKind::ReadingDiff,
            powered_by: DiffProvider::Git,
            base_ref: "origin/main".into(),
            diff: "+x".into(),
            truncated: false,
            summary: None,
            meat_tokens: Some(MeatTokens {
                input: 1,
                output: 2,
            }),
        };
        for (body, pinned) in [
            (
                skill,
                r#"{"type":"skill_use","skill":"quality","description":"d","agent":"review","upstream":{"repo":"o/n","commit":"abc1234"},"bodyBytes":3}"#,
            ),
            (
                artifact,
                r#"{"type":"review_artifact","artifact":"reading_diff","poweredBy":"git","baseRef":"origin/main","diff":"+x","truncated":false,"meatTokens":{"input":1,"output":2}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&body).unwrap(), pinned);
            assert_eq!(serde_json::from_str::<EventBody>(pinned).unwrap(), body);
        }
    }

    /// Older readers and streams lack both fields.
    #[test]
    fn optional_fields_are_absent_until_known() {
        let meta = r#"{"type":"run_meta","agent":"coding"}"#;
        let reviewed = r#"{"type":"run_meta","agent":"review","pr":12}"#;
        let changed = r#"{"type":"answer","text":"**done**","raw":"*done*"}"#;
        for pinned in [
            meta,
            reviewed,
            changed,
            r#"{"type":"answer","text":"done"}"#,
        ] {
            let body: EventBody = serde_json::from_str(pinned).unwrap();
            assert_eq!(serde_json::to_string(&body).unwrap(), pinned);
        }
    }

    #[test]
    fn actor_ids_keep_only_safe_characters() {
        assert_eq!(
            Actor::new(ActorKind::Mcp, "mcp:ann<script>").id,
            "mcp:annscript"
        );
        assert_eq!(Actor::new(ActorKind::Cli, "é ").id, "unknown");
        assert_eq!(Actor::new(ActorKind::Cli, &"a".repeat(200)).id.len(), 128);
    }
}
