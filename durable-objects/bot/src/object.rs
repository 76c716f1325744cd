//! The object's calls: a request, and the alarm.

use ars_container::{Caller, lifecycle::RETRY_AFTER_S};
use ars_platform::{
    Admission, ContainerOwner, LIFECYCLE_ALARM, ObjectContext, Storage, Upstream, fire_alarms,
    path_of, refuse, text_binding,
};
use ars_proxy::{caller, failure, local};
use ars_sql::SqlError;
use ars_wire::admin::RESTART_ROUTE;
use worker::{
    Env, console_error,
    web_sys::{Request, Response},
};

use crate::{
    policy::{BotPolicy, TOKENS, edge_secret},
    proxy::{self, drain_caller_body, response},
    restart::{self, Target},
};

/// The variable with the address of a bot on a developer's machine.
const DEV_BOT_URL: &str = "DEV_BOT_URL";

/// The bot's object. A Worker wraps it in the class it exports.
pub struct BotObject {
    env: Env,
    bot: Option<Bot>,
    storage: Storage,
}

/// The bot behind the edge.
enum Bot {
    /// Also holds the storage with the secret that it shares.
    Container(ContainerOwner<BotPolicy>, Storage),
    /// On a developer's machine.
    Native(Upstream),
}

/// Returns whether the bot runs on a developer's machine.
pub(crate) fn is_native(env: &Env) -> bool {
    native_url(env).is_some()
}

fn native_url(env: &Env) -> Option<String> {
    text_binding(env, DEV_BOT_URL).filter(|url| !url.is_empty())
}

/// A decision about a request.
enum Outcome {
    /// The edge answers in the bot's place.
    Answer(Response),
    Pass,
    /// The request has not begun, and another module instance decides.
    Retired,
}

impl BotObject {
    /// Returns the object. A container and a developer's bot address exclude each other.
    pub fn new(context: ObjectContext, env: Env) -> Self {
        let storage = context.storage();
        let owner = ContainerOwner::new(
            context,
            BotPolicy {
                env: env.clone(),
                storage: storage.clone(),
            },
        );
        let native = native_url(&env);
        let bot = match (owner, native) {
            (Some(owner), None) => Some(Bot::Container(owner, storage.clone())),
            (None, Some(url)) => Some(Bot::Native(Upstream::at(&url))),
            _ => None,
        };
        Self { env, bot, storage }
    }

    /// Answers a request, or returns `None` in a retired instance that has not begun it.
    pub async fn serve(&self, request: &Request) -> Option<Response> {
        let Some(bot) = &self.bot else {
            drain_caller_body(request).await;
            let message =
                "this edge has no container, or has DEV_BOT_URL besides one: it passes nothing on";
            return Some(refuse(500, message));
        };
        let url = request.url();
        match self.decide(bot, request, &url).await {
            Outcome::Pass => Some(proxy::pass(bot.upstream(), request, &url).await),
            Outcome::Retired => None,
            Outcome::Answer(answer) => {
                drain_caller_body(request).await;
                Some(answer)
            }
        }
    }

    async fn decide(&self, bot: &Bot, request: &Request, url: &str) -> Outcome {
        if let Bot::Native(_) = bot
            && let Some(refusal) = local::refusal(url)
        {
            return Outcome::Answer(response(&refusal));
        }
        if path_of(url) == RESTART_ROUTE {
            let tokens = text_binding(&self.env, TOKENS);
            return Outcome::Answer(response(
                &restart::answer(request, tokens.as_deref(), bot).await,
            ));
        }
        let Bot::Container(owner, _) = bot else {
            return Outcome::Pass;
        };
        // The Worker has rejected a wrong bearer, where the path has any.
        let caller = if caller::has_bearer(path_of(url)) {
            Caller::Known
        } else {
            Caller::Anonymous
        };
        match owner.admit(caller).await {
            Admission::Pass => Outcome::Pass,
            Admission::Refuse(retry_after) => {
                Outcome::Answer(response(&failure::unavailable(retry_after)))
            }
            Admission::Retired => Outcome::Retired,
        }
    }

    /// Handles the alarm.
    ///
    /// # Errors
    /// The database failed. The platform then repeats the alarm.
    pub fn alarm(&self) -> Result<(), SqlError> {
        let Some(Bot::Container(owner, _)) = &self.bot else {
            return Ok(());
        };
        fire_alarms(self.storage.clone(), |name| {
            match name {
                LIFECYCLE_ALARM => owner.alarm(),
                _ => console_error!("fault: the alarm {name} has no handler"),
            }
            Ok::<_, SqlError>(())
        })
    }
}

impl Bot {
    fn upstream(&self) -> &Upstream {
        match self {
            Self::Container(owner, _) => owner.upstream(),
            Self::Native(upstream) => upstream,
        }
    }
}

impl Target for Bot {
    fn upstream(&self) -> &Upstream {
        Self::upstream(self)
    }

    fn is_down(&self) -> bool {
        matches!(self, Self::Container(owner, _) if !owner.is_running())
    }

    fn secret(&self) -> Option<String> {
        match self {
            Self::Native(_) => None,
            Self::Container(_, storage) => edge_secret(storage),
        }
    }

    fn restart(&self, force: bool) -> restart::Begun {
        match self {
            Self::Native(_) => restart::Begun::NotOurs,
            Self::Container(owner, _) if owner.restart(force) => restart::Begun::Yes,
            Self::Container(..) => restart::Begun::Unavailable(RETRY_AFTER_S),
        }
    }
}
