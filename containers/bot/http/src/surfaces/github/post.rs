//! `POST /ingress/github`: signature, event, user, repository, delivery, rate, dispatch.

use std::{sync::Arc, time::Duration};

use ars_auth::Actor;
use ars_bot_ports::{Choices, CodeHost, IncomingMessage, event_key};
use ars_codehost::{
    diff::Commit,
    webhook::{Attempt, Bot, Trigger, TriggerKind, ended_pull_request, is_signed, trigger},
};
use ars_events::InputSource;
use ars_types::{Platform, RepoSlug};
use ars_wire::idempotency::IdempotencyKey;
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    channel::{CommentChannel, Progress},
    deliveries::Serving,
    rejected::Rejected,
    settings::WebhookState,
};
use crate::{
    respond,
    server::{MAX_BODY_BYTES, read_body},
    state::HttpState,
};

/// Platform for channels, and subject for the deliveries' idempotency keys, which no token has.
const PLATFORM: Platform = Platform::CodeHost;
/// Time after which a delivery is answered without a run, because the host waits for 10 s.
const WEBHOOK_ANSWER_LIMIT: Duration = Duration::from_secs(8);
/// The agent that mends failed checks.
const MENDING_AGENT: &str = "coding";
/// A delivery with an earlier delivery's id.
const REPEATED: &str = "the delivery was received before";
/// Maximum delivery id length in characters.
const MAX_DELIVERY_ID_CHARS: usize = 100;

/// Every method arrives here, because the method is the first check.
pub(super) async fn post(
    State(state): State<HttpState>,
    Extension(webhooks): Extension<Option<Arc<WebhookState>>>,
    request: Request,
) -> Response {
    match serve(&state, webhooks, request).await {
        Ok(None) => respond::json(StatusCode::ACCEPTED, &json!({ "accepted": true })),
        Ok(Some(reason)) => respond::json(StatusCode::OK, &json!({ "ignored": reason })),
        Err(rejected) => rejected.into_response(),
    }
}

/// Serves a delivery. Returns the reason if it has no effect.
async fn serve(
    state: &HttpState,
    webhooks: Option<Arc<WebhookState>>,
    request: Request,
) -> Result<Option<&'static str>, Rejected> {
    let (head, stream) = request.into_parts();
    if head.method != Method::POST {
        return Err(Rejected::Method);
    }
    let webhooks = webhooks.ok_or(Rejected::Disabled)?;
    let host = &webhooks.settings.host;
    let body = read_body(stream, MAX_BODY_BYTES).await?;
    if !is_signed(
        &webhooks.settings.secret,
        &body,
        value(&head.headers, "x-hub-signature-256"),
    ) {
        return Err(Rejected::Signature);
    }
    let event: Value =
        serde_json::from_slice(&body).map_err(|_| Rejected::Malformed("the body is no JSON"))?;
    let kind = value(&head.headers, "x-github-event");
    if let Some(ended) = ended_pull_request(kind, &event) {
        let recorded = state.core.record_pull_request_end(&ended).await;
        return recorded.map(|()| None).map_err(|_| Rejected::Unavailable);
    }
    // Without the own account no mention is recognized.
    let account = host.account().await.map_err(|_| Rejected::Unavailable)?;
    let bot = Bot {
        login: &account.login,
    };
    let Ok(trigger) = trigger(kind, &event, bot) else {
        return Ok(Some("the event has no effect"));
    };
    let Some(actor) = webhooks.actor(&trigger.user) else {
        return Ok(Some("the user is not mapped"));
    };
    if !state.core.may_use_repository(&actor, &trigger.repository) {
        return Ok(Some("the user may not use the repository"));
    }
    if matches!(trigger.kind, TriggerKind::FailedCheck { .. })
        && !is_own(state, &**host, &trigger).await?
    {
        return Ok(Some("the pull request is not the service's own"));
    }
    let id = value(&head.headers, "x-github-delivery");
    if id.is_empty() || id.len() > MAX_DELIVERY_ID_CHARS {
        return Err(Rejected::Malformed(
            "X-GitHub-Delivery is missing or too long",
        ));
    }
    let key = key_of(&trigger, &body);
    let id = key.key.as_str();
    let Some(serving) = begin(state, &webhooks, &key).await? else {
        return Ok(Some(REPEATED));
    };
    if let Some(reason) = attempt(state, &webhooks, &trigger, id).await? {
        serving.record(state.core.clock().now()).await;
        return Ok(Some(reason));
    }
    let attempted = Attempted::for_check(&webhooks, &trigger, id);
    let io = channel(state, host, &trigger, id, attempted.is_some());
    // Behind the checks for repetitions, which cost the actor nothing.
    if let Err(overload) = state.count(&actor.id) {
        if let Some(attempted) = attempted {
            attempted.give_back().await;
        }
        return Err(Rejected::Overloaded(overload));
    }
    answer(
        state,
        message(state, &**host, trigger, actor, key),
        io,
        serving,
        attempted,
    )
    .await
}

/// Returns the channel for the answer to a delivery.
fn channel(
    state: &HttpState,
    host: &Arc<dyn CodeHost>,
    trigger: &Trigger,
    delivery: &str,
    is_check: bool,
) -> CommentChannel {
    let host = Arc::clone(host);
    let pages = state.core.settings().public_base_url.clone();
    let (place, number) = (trigger.repository.clone(), trigger.number);
    if is_check {
        CommentChannel::of_check(host, place, number, pages)
    } else {
        CommentChannel::new(host, place, number, delivery, pages)
    }
}

/// Returns whether a failed check's pull request is the service's own. A person may name a branch
/// like that of a run, and the event does not name the author.
async fn is_own(
    state: &HttpState,
    host: &dyn CodeHost,
    trigger: &Trigger,
) -> Result<bool, Rejected> {
    match host.pull_request(&trigger.repository, trigger.number).await {
        Ok(facts) => state
            .core
            .is_own_pull_request(&facts)
            .await
            .map_err(|_| Rejected::Unavailable),
        Err(error) if error.is_not_found() => Ok(false),
        Err(_) => Err(Rejected::Unavailable),
    }
}

/// Returns an event's key, which is the same in each delivery.
///
/// The headers are not signed, so the same signed body would count again under each id that a
/// sender invents.
fn key_of(trigger: &Trigger, body: &[u8]) -> IdempotencyKey {
    let identity = trigger.identity.as_deref().map_or(body, str::as_bytes);
    event_key(PLATFORM, identity)
}

/// Begins a delivery. `None` if it was received before.
async fn begin(
    state: &HttpState,
    webhooks: &WebhookState,
    key: &IdempotencyKey,
) -> Result<Option<Serving>, Rejected> {
    let now = state.core.clock().now();
    let begun = webhooks
        .deliveries
        .begin(&key.key, now)
        .await
        .map_err(|_| Rejected::Unavailable)?;
    let Some(serving) = begun else {
        return Ok(None);
    };
    match state.core.queries().first_use(key).await {
        Ok(None) => Ok(Some(serving)),
        Ok(Some(_)) => Ok(None),
        Err(_) => Err(Rejected::Unavailable),
    }
}

/// Counts a failed check as an attempt to mend it. Returns the reason if it starts none.
async fn attempt(
    state: &HttpState,
    webhooks: &WebhookState,
    trigger: &Trigger,
    delivery: &str,
) -> Result<Option<&'static str>, Rejected> {
    let TriggerKind::FailedCheck { head } = &trigger.kind else {
        return Ok(None);
    };
    let pull_request = (&trigger.repository, trigger.number);
    let now = state.core.clock().now();
    match webhooks
        .attempts
        .begin(pull_request, head, delivery, now)
        .await
    {
        Ok(Attempt::Begins) => Ok(None),
        Ok(Attempt::Begun) => Ok(Some("an earlier failed check of this commit was answered")),
        Ok(Attempt::UsedUp) => Ok(Some(
            "the attempts to mend the checks of this pull request are used up",
        )),
        Err(_) => Err(Rejected::Unavailable),
    }
}

/// The counted attempt at a failed check.
struct Attempted {
    webhooks: Arc<WebhookState>,
    repository: RepoSlug,
    number: u64,
    head: Commit,
    delivery: String,
}

impl Attempted {
    fn for_check(webhooks: &Arc<WebhookState>, trigger: &Trigger, delivery: &str) -> Option<Self> {
        let TriggerKind::FailedCheck { head } = &trigger.kind else {
            return None;
        };
        Some(Self {
            webhooks: Arc::clone(webhooks),
            repository: trigger.repository.clone(),
            number: trigger.number,
            head: head.clone(),
            delivery: delivery.to_owned(),
        })
    }

    async fn give_back(&self) {
        let Self {
            webhooks,
            repository,
            number,
            head,
            delivery,
        } = self;
        webhooks
            .attempts
            .give_back((repository, *number), head, delivery)
            .await;
    }
}

/// Dispatches the message, and answers once the run exists or the dispatch ended.
async fn answer(
    state: &HttpState,
    message: IncomingMessage,
    io: CommentChannel,
    serving: Serving,
    attempted: Option<Attempted>,
) -> Result<Option<&'static str>, Rejected> {
    let io = Arc::new(io);
    let mut progress = io.progress();
    let core = state.core.clone();
    let dispatched = {
        let (core, io) = (core.clone(), Arc::<CommentChannel>::clone(&io));
        tokio::spawn(async move { core.dispatch(message, io).await })
    };
    // In a separate task, because the host may hang up.
    let recorded: JoinHandle<Progress> = tokio::spawn(async move {
        let reached = tokio::select! {
            biased;
            reached = progress.wait_for(|progress| *progress != Progress::Dispatching) => {
                reached.map_or(Progress::Dispatching, |reached| *reached)
            }
            _ended = dispatched => *io.progress().borrow(),
        };
        if let (Some(attempted), Progress::Refused | Progress::ShuttingDown) = (&attempted, reached)
        {
            attempted.give_back().await;
        }
        if reached != Progress::ShuttingDown {
            serving.record(core.clock().now()).await;
        }
        reached
    });
    match tokio::time::timeout(WEBHOOK_ANSWER_LIMIT, recorded).await {
        Ok(Ok(Progress::ShuttingDown) | Err(_)) => Err(Rejected::Unavailable),
        Ok(Ok(Progress::Repeated)) => Ok(Some(REPEATED)),
        Ok(Ok(Progress::Dispatching | Progress::Started | Progress::Refused)) | Err(_) => Ok(None),
    }
}

fn message(
    state: &HttpState,
    host: &dyn CodeHost,
    trigger: Trigger,
    actor: Actor,
    key: IdempotencyKey,
) -> IncomingMessage {
    let Trigger {
        repository,
        number,
        thread,
        kind,
        mut text,
        ..
    } = trigger;
    let is_prose = !text.is_empty() && state.core.commands().registry().recognize(&text).is_none();
    if matches!(kind, TriggerKind::Mention { .. }) && is_prose {
        // As code, where it names nothing: the run takes the thread's number, unless the person
        // names another.
        text.push_str(&format!(
            "\n\n(This is a comment on `{repository}#{number}`.)"
        ));
    }
    // Not the channel's agent: only this agent changes the branch.
    let must_continue = matches!(kind, TriggerKind::FailedCheck { .. });
    let agent = must_continue.then(|| MENDING_AGENT.to_owned());
    let channel_id = PLATFORM.id(&repository);
    let source = InputSource {
        url: None,
        channel: Some(channel_id.clone()),
        user: Some(actor.id.clone()),
    };
    IncomingMessage {
        actor,
        channel_id,
        thread_key: thread,
        visibility: PLATFORM.visibility(),
        text,
        attachments: Vec::new(),
        received_at: state.core.clock().now(),
        choices: Choices {
            agent,
            repository: Some(name_of(state, host, &repository)),
            must_continue,
            ..Choices::default()
        },
        source: Some(source),
        idempotency: Some(key),
        is_confirmed: false,
    }
}

/// Returns a repository's configured name, or its origin on the host.
fn name_of(state: &HttpState, host: &dyn CodeHost, slug: &RepoSlug) -> String {
    let known = &state.core.settings().repositories;
    let is_this = |origin: &str| host.host().repository_of(origin).as_ref() == Some(slug);
    let found = known
        .iter()
        .find(|one| one.name.eq_ignore_ascii_case(slug.as_str()) || is_this(&one.origin));
    found.map_or_else(|| host.host().git_origin(slug), |known| known.name.clone())
}

/// Returns a header's only value; more or fewer values count as none.
fn value<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none());
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}
