//! A fake host with a single repository, and the adapter for it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_auth::Secret;
use ars_bot_adapters::code_host::{AppKey, Credentials, GitHub, GitHubSettings, Pause};
use ars_bot_ports::{Clock, Randomness};
use ars_codehost::Host;
use ars_testkit::github::FakeGitHub;
use ars_types::{RefName, RepoSlug, UnixMillis};
use async_trait::async_trait;

/// Every test's time, in seconds since the epoch.
pub const NOW_S: u64 = 1_800_000_000;

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> UnixMillis {
        i64::try_from(NOW_S).unwrap() * 1_000
    }
}

/// Records waits without waiting.
#[derive(Default)]
pub struct Waits(Mutex<Vec<Duration>>);

#[async_trait]
impl Pause for Waits {
    async fn wait(&self, time: Duration) {
        self.0.lock().unwrap().push(time);
    }
}

impl Waits {
    pub fn seconds(&self) -> Vec<u64> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .map(Duration::as_secs)
            .collect()
    }
}

pub struct World {
    pub fake: FakeGitHub,
    pub host: GitHub,
    pub waits: Arc<Waits>,
    pub main: String,
}

/// Makes the adapter for a fake, with the app's key or else the plain token.
pub fn adapter(fake: &FakeGitHub, is_app: bool, waits: &Arc<Waits>) -> GitHub {
    let secret = |text: String| Secret::parse(Some(text)).unwrap();
    let app = fake.app();
    let credentials = match is_app {
        true => Credentials::App {
            app_id: app.id,
            installation: app.installation,
            key: Box::new(AppKey::parse(&secret(app.private_key)).unwrap()),
        },
        false => Credentials::Token(secret(fake.plain_token())),
    };
    let pause: Arc<dyn Pause> = Arc::<Waits>::clone(waits);
    GitHub::new(GitHubSettings {
        host: Host::parse(&fake.url()).unwrap(),
        credentials,
        clock: Arc::new(Fixed),
        pause,
        randomness: Randomness::new(|bytes| {
            bytes.fill(0);
            Ok(())
        }),
    })
    .unwrap()
}

pub async fn world() -> World {
    let fake = FakeGitHub::start().await;
    let main = fake.add_repository(
        "acme/app",
        &[("src/a.rs", "one\ntwo\nthree\n"), ("README.md", "hi\n")],
    );
    let waits = Arc::default();
    let host = adapter(&fake, true, &waits);
    World {
        fake,
        host,
        waits,
        main,
    }
}

pub fn app() -> RepoSlug {
    RepoSlug::parse("acme/app").unwrap()
}

pub fn branch(name: &str) -> RefName {
    RefName::parse(name).unwrap()
}

impl World {
    /// Counts the requests with this text in method and path.
    pub fn count(&self, part: &str) -> usize {
        self.fake
            .targets()
            .iter()
            .filter(|target| target.contains(part))
            .count()
    }
}
