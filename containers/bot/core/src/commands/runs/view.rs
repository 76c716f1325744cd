//! A run as commands show it. It never holds a capability token.

use ars_agent::money::dollars;
use ars_commands::{Field, Kind, names};
use ars_runs::PullRequestState;
use ars_types::{RunId, RunStatus, StopMode};
use ars_wire::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::{
    super::{fence, untrusted::Untrusted},
    short_id,
};
use crate::{
    queries::{RunDetail, RunEntry},
    time::iso,
};

/// The columns of a list in a terminal.
pub(super) const HEADINGS: [&str; 8] = [
    "run",
    "started",
    "status",
    "agent",
    "repository",
    "cost",
    "took",
    "pull request",
];

/// The argument.
pub(super) const ID: Field = Field::required(
    "id",
    Kind::Name(&names::RUN),
    "the run, or a unique beginning of its id",
);

/// A run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunView {
    /// Id.
    #[schemars(with = "String")]
    pub(super) id: RunId,
    /// Title, which quotes the request. Lists have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Untrusted>,
    /// Agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    /// `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Namespaced channel.
    channel_id: String,
    /// Visibility of the channel.
    channel_visibility: String,
    /// Namespaced user.
    user_id: String,
    /// Name of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<String>,
    /// Thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_key: Option<String>,
    /// Repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<String>,
    /// Link to the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_url: Option<String>,
    /// When the request arrived, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    received_at: Option<Moment>,
    /// When the run was created.
    started_at: i64,
    /// Whether it has finished.
    pub(super) finished: bool,
    /// When it finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    finished_at: Option<Moment>,
    /// Its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    status: Option<RunStatus>,
    /// When its stream was sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    sealed_at: Option<Moment>,
    /// Whether the reply was delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_ok: Option<bool>,
    /// Number of loop steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    step_count: Option<Number>,
    /// Schema version of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    schema: Option<Number>,
    /// Number of published events, 0 if it is unknown.
    #[schemars(with = "f64")]
    event_count: Number,
    /// Number of stored events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    stored_event_count: Option<Number>,
    /// Whether stored events are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Position among the runs that wait for a slot. Absent once the run starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<u32>,
    /// What the run is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    activity: Option<Untrusted>,
    /// Cost in millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_micro_usd: Option<u64>,
    /// Its pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<PullRequestView>,
    /// The requested stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<StopView>,
    /// The process that drives it, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_gen: Option<String>,
    /// Whether the row is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    persisted: bool,
    /// Size of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    bytes: Option<Number>,
    /// The stored diagnosis. Lists have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<Value>,
}

/// A requested stop.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct StopView {
    /// Its mode.
    #[schemars(with = "String")]
    mode: StopMode,
    /// `stopping`, or `stopped` once the run has finished.
    state: String,
}

/// A pull request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct PullRequestView {
    /// Repository as `owner/name`.
    repo: String,
    /// Number.
    number: u64,
    /// `open`, `merged` or `closed`, as far as it is known.
    #[schemars(with = "String")]
    state: PullRequestState,
}

impl PullRequestView {
    fn shown(&self) -> String {
        let Self {
            repo,
            number,
            state,
        } = self;
        let state = match state {
            PullRequestState::Open => "open",
            PullRequestState::Merged => "merged",
            PullRequestState::Closed => "closed",
        };
        format!("{repo}#{number} ({state})")
    }
}

impl RunView {
    /// Returns the row of a list: metadata without free text.
    pub(super) fn of_row(run: RunEntry) -> Self {
        Self {
            label: None,
            activity: None,
            diagnosis: None,
            ..Self::whole(run)
        }
    }

    /// Returns every fact of a run.
    pub(super) fn whole(run: RunEntry) -> Self {
        let RunEntry { summary, detail } = run;
        let RunDetail {
            event_count,
            diagnosis,
            owner,
            is_persisted,
            pull_request,
            ..
        } = &detail;
        let pull_request = pull_request.as_ref().map(|fact| PullRequestView {
            repo: fact.repo.clone(),
            number: fact.number,
            state: fact.state,
        });
        let finished = summary.finished.is_some();
        let stop = summary.stop.map(|mode| StopView {
            mode,
            state: if finished { "stopped" } else { "stopping" }.to_owned(),
        });
        Self {
            // A run without a title is labeled with its id.
            label: Some(summary.label)
                .filter(|label| label != summary.id.as_str())
                .map(Untrusted),
            agent: summary.agent,
            model: summary.model,
            channel_id: summary.channel_id,
            channel_visibility: summary.visibility.to_string(),
            user_id: summary.user_id,
            repo: summary.repo,
            started_at: summary.started_at,
            finished,
            finished_at: summary.finished.map(|(at, _)| at),
            status: summary.finished.map(|(_, status)| status),
            cost_micro_usd: summary.cost,
            pull_request,
            stop,
            owner_gen: owner.as_ref().map(ToString::to_string),
            persisted: *is_persisted,
            event_count: event_count.clone().unwrap_or_else(|| 0.into()),
            diagnosis: diagnosis.clone().map(fence::diagnosis),
            id: summary.id,
            user_name: detail.user_name,
            thread_key: detail.thread_key,
            source_url: detail.source_url,
            received_at: detail.received_at,
            sealed_at: detail.sealed_at,
            reply_ok: detail.reply_ok,
            step_count: detail.step_count,
            schema: detail.schema,
            stored_event_count: detail.stored_event_count,
            truncated: detail.truncated,
            queue_position: detail.queue_position,
            activity: detail.activity.map(Untrusted),
            bytes: detail.bytes,
        }
    }

    /// Returns the label without its fence.
    pub(super) fn title(&self) -> Option<&str> {
        self.label.as_ref().map(Untrusted::plain)
    }

    /// Returns one line that names no person, place or request: id, agent, status, duration.
    pub(super) fn line(&self, now: i64, id_chars: usize) -> String {
        let id = short_id::shortened(&self.id, id_chars);
        let agent = self.agent.as_deref().unwrap_or("unknown");
        format!("`{id}` {agent} {} {}", self.state(), self.took(now))
    }

    /// Returns the cells of a row in a terminal, in the order of [`HEADINGS`].
    pub(super) fn cells(&self, now: i64, id_chars: usize) -> [String; HEADINGS.len()] {
        let text = |value: Option<&str>| value.unwrap_or("-").to_owned();
        [
            short_id::shortened(&self.id, id_chars).to_owned(),
            self.began(),
            self.state(),
            text(self.agent.as_deref()),
            text(self.repo.as_deref()),
            text(self.cost().as_deref()),
            self.took(now),
            text(
                self.pull_request
                    .as_ref()
                    .map(PullRequestView::shown)
                    .as_deref(),
            ),
        ]
    }

    /// Returns the known facts for a terminal, one a line.
    pub(super) fn facts(&self, now: i64) -> Vec<(&'static str, String)> {
        let facts = [
            ("run", Some(self.id.to_string())),
            ("title", self.title().map(str::to_owned)),
            ("agent", self.agent.clone()),
            ("model", self.model.clone()),
            ("repository", self.repo.clone()),
            ("thread", self.thread_key.clone()),
            ("status", Some(self.state())),
            (
                "started",
                Some(format!("{}, {}", self.began(), self.took(now))),
            ),
            ("cost", self.cost()),
            (
                "pull request",
                self.pull_request.as_ref().map(PullRequestView::shown),
            ),
        ];
        facts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    fn began(&self) -> String {
        let text = iso(self.started_at);
        // To the minute.
        text.get(..16).map_or_else(
            || text.clone(),
            |minute| format!("{}Z", minute.replace('T', " ")),
        )
    }

    fn cost(&self) -> Option<String> {
        self.cost_micro_usd.map(dollars)
    }

    fn took(&self, now: i64) -> String {
        let end = self.finished_at.map_or(now, Moment::rounded);
        ars_friction::duration((end - self.started_at).max(0))
    }

    fn state(&self) -> String {
        match (&self.status, &self.stop) {
            (Some(status), _) => status.to_string(),
            (None, Some(_)) => "stopping".to_owned(),
            (None, None) => match self.queue_position {
                Some(position) => format!("waiting ({position})"),
                None => "running".to_owned(),
            },
        }
    }
}
