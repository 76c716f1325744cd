//! Tests the adapter against local servers, which only a test's guard admits.

mod bodies;
mod certificates;
mod guard;
mod search;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use ars_bot_ports::{FetchLimits, FetchScope, Fetched, FetchedBody, Web as _, WebError};
use async_trait::async_trait;
use axum::Router;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    client::PublicWeb,
    resolver::{Guard, Lookup},
};

/// The test servers' address, which the guard treats as public.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// A private address that no guard admits.
const PRIVATE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// A resolver with scripted answers for each name; the last answer repeats. Keeps the lookups.
#[derive(Default)]
struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn with(names: &[(&str, &[&[IpAddr]])]) -> Arc<Self> {
        let answers = names.iter().map(|(name, answers)| {
            (
                (*name).to_owned(),
                answers
                    .iter()
                    .rev()
                    .map(|addresses| addresses.to_vec())
                    .collect(),
            )
        });
        Arc::new(Self {
            answers: Mutex::new(answers.collect()),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        match self.answers.lock().unwrap().get_mut(name) {
            Some(answers) if answers.len() > 1 => Ok(answers.pop().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::Error::other("no such name")),
        }
    }
}

/// A server that runs until it is dropped.
struct Site {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Site {
    async fn serve(router: Router) -> Self {
        let listener = tokio::net::TcpListener::bind((HERE, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, task }
    }

    /// Returns the URL for a path under a name in these tests.
    fn url(&self, name: &str, path: &str) -> String {
        format!("http://{name}:{}{path}", self.address.port())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns a web with these names only.
fn web(names: Arc<Names>) -> PublicWeb {
    PublicWeb::guarded(Guard::exempting(HERE), names, None).unwrap()
}

/// Fetches a path on a site named `site.example`.
async fn get(site: &Site, path: &str, limits: FetchLimits) -> Result<Fetched, WebError> {
    let web = web(Names::with(&[("site.example", &[&[HERE]])]));
    web.fetch(
        &site.url("site.example", path),
        FetchScope::default(),
        limits,
        &CancellationToken::new(),
    )
    .await
}

/// Returns a fetched page's text, and whether it was cut.
fn text(fetched: Result<Fetched, WebError>) -> (String, bool) {
    match fetched.unwrap().body {
        FetchedBody::Text { text, cut } => (text, cut),
        other => panic!("no text: {other:?}"),
    }
}
