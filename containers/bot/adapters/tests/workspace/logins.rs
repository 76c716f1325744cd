//! Git in a sandbox reaches the run's repository with a login that it never sees.

use std::sync::Arc;

use ars_auth::Secret;
use ars_bot_adapters::{
    code_host::{AppKey, Credentials, GitHub, GitHubSettings, TokioPause},
    egress::{EgressSettings, HostRule},
    logins::Logins,
    sandbox::SandboxSettings,
};
use ars_bot_ports::{
    Clock, CodeHost, ExecOutcome, Randomness, Repository, Workspace, WorkspaceProvider as _,
    WorkspaceRequest,
};
use ars_codehost::Host;
use ars_testkit::github::{FakeGitHub, Fault};
use ars_types::{SandboxKind, UnixMillis};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio_util::sync::CancellationToken;

use crate::support::{World, exec, must, thread, world_in};

/// Prefix of each token from the fake host.
const TOKEN: &str = "ghs_fake";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> UnixMillis {
        1_800_000_000_000
    }
}

/// A host with two repositories, and a run's workspace on the first.
struct Hosted {
    fake: FakeGitHub,
    site: String,
    _world: World,
    workspace: Arc<dyn Workspace>,
}

fn code_host(fake: &FakeGitHub, site: &str) -> Arc<dyn CodeHost> {
    let app = fake.app();
    let key = Secret::parse(Some(app.private_key)).unwrap();
    let key = Box::new(AppKey::parse(&key).unwrap());
    let host = GitHub::new(GitHubSettings {
        host: Host::parse(site).unwrap(),
        credentials: Credentials::App {
            app_id: app.id,
            installation: app.installation,
            key,
        },
        clock: Arc::new(Fixed),
        pause: Arc::new(TokioPause),
        randomness: Randomness::default(),
    });
    Arc::new(host.unwrap())
}

/// Opens a workspace. The agent may push to `acme/app`, if `agents` names it.
async fn hosted(agents: &[&str]) -> Hosted {
    let fake = FakeGitHub::start().await;
    fake.add_repository("acme/app", &[("README.md", "hi\n")]);
    fake.add_repository("acme/app-other", &[("secret.txt", "x\n")]);
    let site = fake.url().replace("127.0.0.1", "localhost");
    let rule = site.trim_start_matches("http://");
    let egress = EgressSettings {
        allow: vec![HostRule::parse(rule).unwrap()],
        push: [(
            "acme/app".to_owned(),
            agents.iter().map(|agent| (*agent).to_owned()).collect(),
        )]
        .into(),
        ..EgressSettings::default()
    };
    let kind = Some(SandboxKind::Landlock);
    let world = world_in(SandboxSettings {
        kind,
        egress,
        ..SandboxSettings::default()
    });
    let logins = Logins::new([], Some(code_host(&fake, &site)));
    let World { folder, provider } = world;
    let world = World {
        folder,
        provider: provider.with_logins(logins),
    };
    let repository = Repository {
        name: "acme/app".into(),
        origin: format!("{site}/acme/app.git"),
    };
    let thread = thread("t");
    let request = WorkspaceRequest {
        repository: Some(&repository),
        agent: Some("coding"),
        ..WorkspaceRequest::for_thread(&thread)
    };
    let workspace = world
        .provider
        .open(request, &CancellationToken::new())
        .await
        .unwrap();
    Hosted {
        fake,
        site,
        _world: world,
        workspace,
    }
}

impl Hosted {
    /// Runs a command and checks that no token form is in the output.
    async fn run(&self, command: &str) -> ExecOutcome {
        let outcome = exec(&*self.workspace, command).await;
        let tokens: Vec<String> = self
            .fake
            .seen()
            .into_iter()
            .filter_map(|seen| seen.token)
            .collect();
        assert!(!outcome.output.contains(TOKEN), "{}", outcome.output);
        for token in tokens {
            let basic = BASE64_STANDARD.encode(format!("x-access-token:{token}"));
            assert!(!outcome.output.contains(&basic), "{}", outcome.output);
        }
        outcome
    }

    /// Returns the requests with this text in their path and whether each had a token.
    fn requests(&self, part: &str) -> Vec<bool> {
        let seen = self
            .fake
            .seen()
            .into_iter()
            .filter(|seen| seen.target.contains(part));
        seen.map(|seen| seen.token.is_some()).collect()
    }
}

#[tokio::test]
async fn private_repository_is_fetched_without_a_visible_login() {
    let hosted = hosted(&[]).await;
    let commit = hosted
        .fake
        .commit("acme/app", "topic", &[("new.txt", Some("new\n"))]);
    let fetched = hosted
        .run("GIT_TRACE_CURL=1 git fetch origin 2>&1; git rev-parse origin/topic")
        .await;
    assert!(fetched.output.contains(&commit), "{}", fetched.output);
    let clone = format!(
        "git clone -q {}/acme/app ../tmp/again && ls ../tmp/again",
        hosted.site
    );
    assert_eq!(hosted.run(&clone).await.output.trim(), "README.md");
    hosted
        .run("env; set; git config --list --show-origin; cat .git/config; grep -r . ../home ../tmp")
        .await;
    hosted
        .run("cat /proc/*/environ /proc/*/cmdline 2>&1 | tr '\\0' '\\n'")
        .await;
    // Any other path on the host gets no login.
    let asked = hosted
        .run("curl -sS --noproxy '' http://code-host.invalid/api/v3/user")
        .await;
    assert!(
        asked.output.contains("the run's own repository"),
        "{}",
        asked.output
    );
}

#[tokio::test]
async fn other_repository_and_other_host_get_no_login() {
    let hosted = hosted(&[]).await;
    let command = format!(
        "git -c http.proxy=$http_proxy clone {}/acme/app-other ../tmp/other 2>&1",
        hosted.site
    );
    assert_ne!(hosted.run(&command).await.exit_code, 0);
    assert!(
        hosted
            .requests("app-other")
            .iter()
            .all(|has_token| !has_token)
    );
    let elsewhere = FakeGitHub::start().await;
    let port = elsewhere.url().rsplit_once(':').unwrap().1.parse().unwrap();
    hosted
        .fake
        .fail("GET /acme/app.git/info/refs", Fault::Moved(port));
    let moved = hosted.run("git fetch origin 2>&1").await;
    assert!(
        moved.exit_code != 0 && moved.output.contains("mend the configured origin"),
        "{}",
        moved.output
    );
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn push_needs_its_setting() {
    let push = "git commit -q --allow-empty -m x && git push -q origin HEAD:refs/heads";
    let hosted_without = hosted(&["review"]).await;
    let refused = hosted_without.run(&format!("{push}/ars/r1 2>&1")).await;
    assert_ne!(refused.exit_code, 0);
    let setting = "sandbox.egress.push.\"acme/app\" = [\"coding\"] allows it";
    assert!(refused.output.contains(setting), "{}", refused.output);
    assert!(refused.refused[0].to_string().contains(setting));
    assert!(hosted_without.requests("receive-pack").is_empty());

    let hosted = hosted(&["coding"]).await;
    must(&*hosted.workspace, &format!("{push}/ars/r1")).await;
    let head = must(&*hosted.workspace, "git rev-parse HEAD").await;
    assert_eq!(hosted.fake.git("acme/app", &["rev-parse", "ars/r1"]), head);
    let foreign = hosted.run(&format!("{push}/topic 2>&1")).await;
    assert!(foreign.exit_code != 0 && foreign.refused[0].host == "a push to refs/heads/topic");
}

#[tokio::test]
async fn text_of_the_host_is_replaced() {
    let hosted = hosted(&[]).await;
    for (fault, expected) in [
        (Fault::Unauthorized, "rejected the service's login"),
        (Fault::Garbled, "answered with an error"),
        (Fault::Forbidden, "refused this to the service's account"),
    ] {
        hosted.fake.fail("GET /acme/app.git/info/refs", fault);
        let output = hosted.run("git fetch origin 2>&1").await.output;
        assert!(
            output.contains(expected) && !output.contains("html"),
            "{output}"
        );
        assert!(!output.contains("integration"), "{output}");
    }
}
