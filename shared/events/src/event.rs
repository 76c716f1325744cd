//! The event kinds and their fields (bot supplement section 9).
//!
//! Writers build `EventBody`; readers of stored streams must accept kinds they do not know, so they read JSON.

use ars_types::{StopMode, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One published event: numbered by the registry, stamped by the runner's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
    /// Position in the run's stream, from 1, without gaps.
    pub seq: u64,
    /// When it happened, by the runner's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<UnixMillis>,
    /// The span the event belongs to.
    #[serde(default, rename = "spanId", skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventBody {
    /// What the requester said; the first event of a run, and again for each steered follow-up.
    Input {
        /// The message, with a count suffix for attachments.
        text: String,
        /// Where it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<InputSource>,
    },
    /// One earlier turn of the thread, prefixed `user:` or `assistant:`.
    Context {
        /// The turn.
        text: String,
    },
    /// What the run runs with. Once, after the input.
    RunMeta {
        /// The agent; `command` for an inline command run.
        agent: String,
        /// `provider/model`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The effort word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// The request's trace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_id: Option<String>,
        /// The repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
        /// The ref the workspace was made at.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        git_ref: Option<String>,
        /// The workspace's commit when the run began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<String>,
    },
    /// Model prose beside tool calls; never the final answer.
    Assistant {
        /// The prose.
        text: String,
    },
    /// A tool is about to run.
    ToolCall {
        /// Its name.
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
    /// A tool has run.
    ToolResult {
        /// Its name.
        tool: String,
        /// False when the tool threw, and for bash when the command exited non-zero.
        ok: bool,
        /// First non-empty line of the output and a size note.
        summary: String,
        /// Pairs the result with its call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The command's exit code, for bash.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// The output, capped at 8000 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// True when the sandbox or transport failed, not the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        infra: Option<bool>,
    },
    /// A turning point of the run's life.
    RunNote {
        /// Which.
        kind: NoteKind,
        /// In words.
        summary: String,
        /// How the run stops, for the stop kinds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<StopMode>,
        /// Who asked, for `stop_requested`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
        /// First lost seq, for `spans_dropped`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Last lost seq, for `spans_dropped`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<u64>,
    },
    /// A skill's body was handed to the model; between the call and its result.
    SkillUse {
        /// Its name.
        skill: String,
        /// What it is for.
        description: String,
        /// The agent that asked for it.
        agent: String,
        /// Where the skill says it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The repository and commit it was taken from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upstream: Option<SkillUpstream>,
        /// Bytes handed over.
        body_bytes: u64,
    },
    /// What a review leaves for people to read beside its answer.
    ReviewArtifact {
        /// Which.
        artifact: ArtifactKind,
        /// What made it.
        powered_by: DiffProvider,
        /// The ref it was compared with.
        base_ref: String,
        /// The unified diff, capped.
        diff: String,
        /// The diff is not whole.
        truncated: bool,
        /// What an abridger says of the whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// What an abridger used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meat_tokens: Option<MeatTokens>,
    },
    /// The final answer. Once, before the finish and the reply; absent when the run threw.
    Answer {
        /// The answer.
        text: String,
    },
    /// A timed part of the run begins.
    SpanStart {
        /// Names the span within the run.
        span_id: String,
        /// The span it is part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_span_id: Option<String>,
        /// Such as `model.turn` or `tool.bash`.
        name: String,
        /// Facts about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attrs: Option<Map<String, Value>>,
    },
    /// A timed part of the run has ended.
    SpanEnd {
        /// Names the span within the run.
        span_id: String,
        /// The span it is part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_span_id: Option<String>,
        /// Such as `model.turn` or `tool.bash`.
        name: String,
        /// Facts about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attrs: Option<Map<String, Value>>,
        /// When it began.
        started_at: UnixMillis,
        /// How long it took, in milliseconds.
        duration_ms: i64,
        /// How it ended.
        status: SpanStatus,
        /// A classification or a redacted message, when it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// Where an input came from.
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

/// Where a skill was taken from.
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
    /// The reviewed change, for reading.
    ReadingDiff,
}

/// What made a reading diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffProvider {
    /// Git, of the whole change.
    Git,
    /// The abridger.
    Meat,
}

/// Tokens an abridger used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeatTokens {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// The kinds of a run note: the six of document 1 section 6, those of bot supplement section 9, and the last two, which
/// are additions: readers accept kinds they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Time is running out; the model was told to wrap up.
    WrapUp,
    /// The time budget ended the run.
    TimeBudgetExhausted,
    /// The turn budget ended the run.
    TurnBudgetExhausted,
    /// Repeated infrastructure failure ended the run.
    SandboxDead,
    /// No sandbox was free.
    FleetBusy,
    /// Somebody asked the run to stop.
    StopRequested,
    /// The run stopped.
    Stopped,
    /// Span records were dropped to stay within a bound.
    SpansDropped,
    /// The reviewed branch moved.
    HeadMoved,
    /// An external MCP server contributed nothing.
    McpUnavailable,
    /// A follow-up was handed to the model.
    FollowUp,
    /// A new process carries the run on.
    Resumed,
    /// Older turns were summed up or dropped to fit the model's window.
    Compacted,
    /// The money cap ended the run.
    MoneyBudgetExhausted,
}

/// Who asked for a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Through which surface.
    pub kind: ActorKind,
    /// Restricted to `[A-Za-z0-9:@._-]{1,128}`.
    pub id: String,
}

/// The surfaces a stop can come through.
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

/// Longest actor id, document 1 section 6.
const ACTOR_ID_MAX: usize = 128;

impl Actor {
    /// Keeps the characters an actor id may have; `unknown` when nothing survives.
    pub fn new(kind: ActorKind, id: &str) -> Self {
        let kept: String = id
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || ":@._-".contains(*c))
            .take(ACTOR_ID_MAX)
            .collect();
        Self { kind, id: if kept.is_empty() { "unknown".into() } else { kept } }
    }
}

/// How a span ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanStatus {
    /// It did what it was for.
    Ok,
    /// It failed.
    Error,
}

impl EventBody {
    /// A note without stop or span fields.
    pub fn note(kind: NoteKind, summary: impl Into<String>) -> Self {
        Self::RunNote { kind, summary: summary.into(), mode: None, actor: None, from: None, to: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_of_an_event_is_pinned() {
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
    fn the_stored_forms_of_skill_and_artifact_events_are_pinned() {
        let skill = EventBody::SkillUse {
            skill: "quality".into(),
            description: "d".into(),
            agent: "review".into(),
            source: None,
            upstream: Some(SkillUpstream { repo: "o/n".into(), commit: "abc1234".into() }),
            body_bytes: 3,
        };
        let artifact = EventBody::ReviewArtifact {
            artifact: ArtifactKind::ReadingDiff,
            powered_by: DiffProvider::Git,
            base_ref: "origin/main".into(),
            diff: "+x".into(),
            truncated: false,
            summary: None,
            meat_tokens: Some(MeatTokens { input: 1, output: 2 }),
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

    #[test]
    fn actor_ids_keep_only_safe_characters() {
        assert_eq!(Actor::new(ActorKind::Mcp, "mcp:ann<script>").id, "mcp:annscript");
        assert_eq!(Actor::new(ActorKind::Cli, "é ").id, "unknown");
        assert_eq!(Actor::new(ActorKind::Cli, &"a".repeat(200)).id.len(), 128);
    }
}
