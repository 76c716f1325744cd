//! The fake's server.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use aws_lc_rs::{
    encoding::AsDer as _,
    rsa::KeySize,
    signature::{KeyPair as _, RsaKeyPair},
};
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request as Incoming, State},
    http::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::{net::TcpListener, sync::oneshot, task::AbortHandle};

use super::{
    answer::Answer,
    auth::{self, App, Reach},
    fault::{Fault, Hang},
    folder::Folder,
    git, graphql,
    render::WEB,
    request::Request,
    reviews,
    route::route,
    state::{FakeItem, FakeRepository, HostState, Seen},
    text_page,
};

/// The app that the fake knows, as an operator configures it.
#[derive(Debug, Clone)]
pub struct GitHubApp {
    /// The app's id.
    pub id: String,
    /// Id of the installation.
    pub installation: u64,
    /// Private key in PEM.
    pub private_key: String,
}

/// The only key pair, because making a pair takes long.
struct AppKeys {
    pem: String,
    public: Vec<u8>,
}

struct Shared {
    state: Mutex<HostState>,
    app: App,
    folder: Folder,
    /// The server's host and port, as clients name it.
    authority: String,
}

/// A fake host on a free port, until dropped.
pub struct FakeGitHub {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: AbortHandle,
}

fn keys() -> &'static AppKeys {
    static KEYS: OnceLock<AppKeys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key can be made");
        let der = pair.as_der().expect("the key has a form");
        let body = STANDARD.encode(der.as_ref());
        let label = "PRIVATE KEY";
        let pem = format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        AppKeys {
            pem,
            public: pair.public_key().as_ref().to_vec(),
        }
    })
}

impl FakeGitHub {
    /// Starts a host for the account `acme` without repositories.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let reach = Reach::Account("acme".to_owned());
        Self::run(listener, reach, Folder::temporary(), HostState::default())
    }

    /// Serves the bare repositories `<root>/<owner>/<name>.git`, which anyone may read. The
    /// installation has all of them. Issues, pull requests and checks are stored in the folder.
    ///
    /// # Errors
    /// Returns why the folder cannot be made, or the stored state cannot be read.
    pub fn serve(listener: TcpListener, root: &Path) -> io::Result<Self> {
        let (folder, state) = Folder::open(root)?;
        Ok(Self::run(listener, Reach::Everything, folder, state))
    }

    fn run(listener: TcpListener, reach: Reach, folder: Folder, state: HostState) -> Self {
        let app = App {
            id: "4242".to_owned(),
            slug: "ars".to_owned(),
            installation: 77,
            public_key: keys().public.clone(),
            plain: "ghp_fakeplaintoken0000".to_owned(),
            reach,
        };
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            app,
            folder,
            authority: address.to_string(),
        });
        let router = Router::new()
            .fallback(handle)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            shared,
            address,
            serving: task.abort_handle(),
        }
    }

    /// Returns the base address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the host's app.
    pub fn app(&self) -> GitHubApp {
        let App {
            id, installation, ..
        } = &self.shared.app;
        GitHubApp {
            id: id.clone(),
            installation: *installation,
            private_key: keys().pem.clone(),
        }
    }

    /// Returns a user's plain token.
    pub fn plain_token(&self) -> String {
        self.shared.app.plain.clone()
    }

    /// Adds a repository with these files on `main`. Returns the first commit.
    pub fn add_repository(&self, name: &str, files: &[(&str, &str)]) -> String {
        let path = self.shared.folder.path().join(format!("{name}.git"));
        git::init(&path);
        {
            let mut state = self.state();
            let id = state.id();
            let repository = FakeRepository {
                id,
                name: name.to_owned(),
                path,
                ..FakeRepository::default()
            };
            state.repositories.insert(name.to_owned(), repository);
        }
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, Some(*text)))
            .collect();
        self.commit(name, "main", &files)
    }

    /// Commits files on a branch, which begins at `main` if it is new. Returns the commit.
    /// `None` deletes a file.
    pub fn commit(&self, name: &str, branch: &str, files: &[(&str, Option<&str>)]) -> String {
        let path = self.repository(name).path;
        git::commit(&path, branch, "main", files)
    }

    /// Runs git in the bare repository, such as `branch -D x`.
    pub fn git(&self, name: &str, arguments: &[&str]) -> String {
        git::git(&self.repository(name).path, arguments)
    }

    /// Protects the branches that match a pattern, such as `release/*`, from pushes.
    pub fn protect(&self, name: &str, branch: &str) {
        self.git(name, &["config", "--add", "fake.protected", branch]);
    }

    /// Returns a repository's current state.
    pub fn repository(&self, name: &str) -> FakeRepository {
        self.state().repositories[name].clone()
    }

    /// Returns the current state of an issue or pull request.
    pub fn item(&self, name: &str, number: u64) -> FakeItem {
        self.state().repositories[name].items[&number].clone()
    }

    /// Changes a repository, such as by a person.
    pub fn change<T>(&self, name: &str, change: impl FnOnce(&mut FakeRepository) -> T) -> T {
        change(
            self.state()
                .repositories
                .get_mut(name)
                .expect("the repository exists"),
        )
    }

    /// Renames a repository. The old name redirects.
    pub fn rename(&self, name: &str, new: &str) {
        let folder = self.shared.folder.path();
        let mut state = self.state();
        let mut repository = state
            .repositories
            .remove(name)
            .expect("the repository exists");
        let path = folder.join(format!("{new}.git"));
        std::fs::create_dir_all(path.parent().expect("it has a parent"))
            .expect("the folder can be made");
        std::fs::rename(&repository.path, &path).expect("the folder can be moved");
        (repository.name, repository.path) = (new.to_owned(), path);
        state.repositories.insert(new.to_owned(), repository);
        state.renamed.insert(name.to_owned(), new.to_owned());
    }

    /// Revokes every minted token.
    pub fn revoke_tokens(&self) {
        self.state()
            .minted
            .iter_mut()
            .for_each(|one| one.is_revoked = true);
    }

    /// Lets the next request with this text in method and path fail, such as `POST /repos/acme/app/pulls`.
    pub fn fail(&self, part: &str, fault: Fault) {
        self.state().faults.push((part.to_owned(), fault));
    }

    /// Lets the next request with this text in method, path or GraphQL query hang.
    /// Completes once it does.
    pub fn hang(&self, part: &str, hang: Hang) -> oneshot::Receiver<()> {
        let (sender, reached) = oneshot::channel();
        self.state().hangs.push((part.to_owned(), hang, sender));
        reached
    }

    /// Returns the requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Returns the methods and paths requested so far.
    pub fn targets(&self) -> Vec<String> {
        self.state()
            .seen
            .iter()
            .map(|seen| format!("{} {}", seen.method, seen.target))
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.shared.state.lock().unwrap()
    }
}

impl Drop for FakeGitHub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn handle(State(shared): State<Arc<Shared>>, incoming: Incoming) -> Response<Body> {
    let (parts, body) = incoming.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX)
        .await
        .unwrap_or_default();
    let whole = parts.uri.path().to_owned();
    let path = whole
        .strip_prefix("/api/v3")
        .or_else(|| whole.strip_prefix("/api"))
        .unwrap_or(&whole)
        .to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let request = Request {
        method: parts.method,
        path,
        query,
        headers: parts.headers,
        body,
    };
    let target = match request.query.as_str() {
        "" => request.path.clone(),
        query => format!("{}?{query}", request.path),
    };
    let (fault, hang) = {
        let mut state = shared.state.lock().unwrap();
        shared.folder.discover(&mut state);
        state.seen.push(Seen {
            method: request.method.to_string(),
            target: target.clone(),
            token: auth::token(&request),
            body: request.body.to_vec(),
        });
        let query = if target == "/graphql" {
            String::from_utf8_lossy(&request.body)
        } else {
            "".into()
        };
        let line = format!("{} {target} {query}", request.method);
        let at = state
            .faults
            .iter()
            .position(|(part, _)| line.contains(part.as_str()));
        let fault = at.map(|at| state.faults.remove(at).1);
        let at = state
            .hangs
            .iter()
            .position(|(part, ..)| line.contains(part.as_str()));
        (fault, at.map(|at| state.hangs.remove(at)))
    };
    let hang = match hang {
        Some((_, Hang::Before, reached)) => return hung(reached).await,
        other => other,
    };
    let early = fault.and_then(|fault| instead(fault, &target));
    let answer = match early {
        Some(answer) => answer,
        None if whole.starts_with("/storage/") => storage(&shared, &request),
        None if whole.starts_with("/api") => api(&shared, &request),
        None if whole.contains(".git/") => over_git(&shared, &request).await,
        None => text_page::answer(&mut shared.state.lock().unwrap(), &shared.app, &request),
    };
    if let Some((_, Hang::After, reached)) = hang {
        return hung(reached).await;
    }
    let answer = if fault == Some(Fault::GraphPartial) {
        graphql::partial(&answer)
    } else {
        answer
    };
    sent(&shared, answer, fault)
}

/// Answers an API request, and stores the effect.
fn api(shared: &Shared, request: &Request) -> Answer {
    let mut state = shared.state.lock().unwrap();
    let answer = route(&mut state, &shared.app, request);
    match shared.folder.store(&state) {
        Ok(()) => answer,
        Err(error) => Answer::error(500, &format!("the state cannot be stored: {error}")),
    }
}

/// Reports that a request hangs. Never completes: the client hangs up.
async fn hung(reached: oneshot::Sender<()>) -> Response<Body> {
    // The test may have ended.
    let _ = reached.send(());
    std::future::pending().await
}

/// Returns the response when a fault prevents the request.
fn instead(fault: Fault, target: &str) -> Option<Answer> {
    match fault {
        Fault::Unauthorized => Some(Answer::error(401, "Bad credentials")),
        Fault::RateLimited(reset) => Some(
            Answer::error(403, "API rate limit exceeded for installation ID 77.")
                .header("x-ratelimit-remaining", "0")
                .header("x-ratelimit-reset", reset.to_string()),
        ),
        Fault::SecondaryLimited(seconds) => Some(
            Answer::error(403, "You have exceeded a secondary rate limit.")
                .header("retry-after", seconds.to_string()),
        ),
        Fault::GraphRateLimited(reset) => Some(
            graphql::fault(
                "RATE_LIMITED",
                "API rate limit exceeded for installation ID 77.",
            )
            .header("x-ratelimit-remaining", "0")
            .header("x-ratelimit-reset", reset.to_string()),
        ),
        Fault::GraphSecondaryLimited(seconds) => Some(
            graphql::fault("RATE_LIMITED", "You have exceeded a secondary rate limit.")
                .header("retry-after", seconds.to_string()),
        ),
        Fault::Hidden => Some(Answer::not_found()),
        Fault::Forbidden => Some(Answer::error(403, "Resource not accessible by integration")),
        Fault::AnchorRejected => Some(reviews::rejected_anchor()),
        Fault::Unavailable => Some(Answer::text(502, b"<html>Unicorn!</html>".to_vec())),
        Fault::Garbled => Some(Answer::text(200, b"<html>".to_vec())),
        Fault::Moved(port) => Some(
            Answer::error(301, "Moved Permanently")
                .header("location", format!("http://localhost:{port}{target}")),
        ),
        Fault::NotListedYet => Some(Answer::text(200, b"[]".to_vec())),
        Fault::LostAnswer | Fault::Truncated | Fault::GraphPartial => None,
    }
}

fn sent(shared: &Shared, answer: Answer, fault: Option<Fault>) -> Response<Body> {
    let answer = if fault == Some(Fault::LostAnswer) {
        Answer::text(502, Vec::new())
    } else {
        answer
    };
    let mut response = Response::builder().status(answer.status);
    if !answer.media_type.is_empty() {
        response = response.header("content-type", answer.media_type);
    }
    for (name, value) in answer.headers {
        // Addresses in answers name this server.
        let is_address = value.starts_with("/api") || value.starts_with("/storage");
        let base = if is_address {
            format!("http://{}", shared.authority)
        } else {
            String::new()
        };
        response = response.header(name, format!("{base}{value}"));
    }
    // Official clients refuse addresses on another host.
    let body = match String::from_utf8(answer.body) {
        Ok(text) if answer.media_type.contains("json") => text
            .replace(WEB, &format!("http://{}", shared.authority))
            .into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(binary) => binary.into_bytes(),
    };
    if fault == Some(Fault::Truncated) {
        let half = body[..body.len() / 2].to_vec();
        let broken = Err(std::io::Error::other("the connection ends"));
        let parts: Vec<Result<Vec<u8>, std::io::Error>> = vec![Ok(half), broken];
        return response
            .body(Body::from_stream(futures::stream::iter(parts)))
            .unwrap();
    }
    response.body(Body::from(body)).unwrap()
}

/// Serves a log from the storage, which rejects a credential as a real storage does.
fn storage(shared: &Shared, request: &Request) -> Answer {
    if auth::token(request).is_some() {
        return Answer::error(400, "Only one auth mechanism allowed");
    }
    let mut parts = request.path.trim_start_matches("/storage/").split('/');
    let (repository, id) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let state = shared.state.lock().unwrap();
    let found = state
        .repositories
        .values()
        .find(|one| one.id.to_string() == repository);
    match found.and_then(|one| one.logs.get(&id.parse().ok()?)) {
        Some(log) => Answer::text(200, log.clone().into_bytes()),
        None => Answer::not_found(),
    }
}

/// Serves git, with the permission that the git service needs.
async fn over_git(shared: &Shared, request: &Request) -> Answer {
    let Some((name, rest)) = request.path.trim_start_matches('/').split_once(".git/") else {
        return Answer::not_found();
    };
    let name = &name.to_ascii_lowercase();
    let is_push = rest == "git-receive-pack" || request.query.contains("git-receive-pack");
    let (is_accepted, is_allowed, path) = {
        let state = shared.state.lock().unwrap();
        let caller = auth::caller(&state, &shared.app, request);
        let accepted = caller.is_ok();
        let allowed =
            caller.is_ok_and(|caller| caller.sees(name) && caller.may("contents", is_push));
        let known = state.repositories.get(name);
        let path = known.and_then(|one| shared.folder.relative(&one.path));
        (
            accepted,
            allowed && !(is_push && known.is_some_and(|one| one.is_archived)),
            path,
        )
    };
    let asks = |text| Answer::error(401, text).header("www-authenticate", "Basic realm=\"GitHub\"");
    match (is_allowed, auth::token(request), path) {
        (false, ..) if !is_accepted => asks("Invalid username or token."),
        (false, None, _) => asks("Repository not found."),
        (false, Some(_), _) => Answer::error(403, "Write access to repository not granted."),
        (true, _, None) => Answer::not_found(),
        (true, _, Some(path)) => {
            git::serve(shared.folder.path(), request, &format!("/{path}/{rest}")).await
        }
    }
}
