//! Overrides over a store with other writers.

use std::sync::Mutex as StdMutex;

use ars_bot_ports::{Document, StoreError, StoreErrorKind};
use ars_settings::{Scope, Target};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;

/// Timeout for a store that answers.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A document with compare-and-swap; tests can write to it concurrently, or make it unavailable.
#[derive(Default)]
struct Shared {
    loaded: StdMutex<Document>,
    /// Documents that other writers put just before our next replacements, one each.
    others: StdMutex<Vec<Value>>,
    is_down: StdMutex<bool>,
}

impl Shared {
    fn write(&self, document: Value) {
        let mut loaded = self.loaded.lock().unwrap();
        *loaded = Document {
            document: Some(document),
            version: loaded.version + 1,
        };
    }

    fn reach(&self) -> Result<(), StoreError> {
        match *self.is_down.lock().unwrap() {
            true => Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "unreachable".into(),
            }),
            false => Ok(()),
        }
    }

    fn document(&self) -> Value {
        self.loaded.lock().unwrap().document.clone().unwrap()
    }
}

#[async_trait]
impl Documents for Shared {
    async fn newest(&self, key: &str) -> Result<Document, StoreError> {
        assert_eq!(key, "overrides");
        self.reach()?;
        // Yields to others, as a network would.
        tokio::task::yield_now().await;
        Ok(self.loaded.lock().unwrap().clone())
    }

    async fn replace(
        &self,
        key: &str,
        document: &Value,
        expected: u64,
    ) -> Result<Replacement, StoreError> {
        assert_eq!(key, "overrides");
        self.reach()?;
        if let Some(other) = self.others.lock().unwrap().pop() {
            self.write(other);
        }
        tokio::task::yield_now().await;
        let mut loaded = self.loaded.lock().unwrap();
        if loaded.version != expected {
            return Ok(Replacement::Stale(loaded.version));
        }
        *loaded = Document {
            document: Some(document.clone()),
            version: expected + 1,
        };
        Ok(Replacement::Saved(expected + 1))
    }
}

fn agent(name: &str) -> Scope {
    Scope {
        agent: Some(name.to_owned()),
        ..Scope::default()
    }
}

fn set<'a>(
    target: Target<'a>,
    name: &str,
) -> impl Fn(&Scopes) -> Result<Scopes, Fault> + Send + 'a {
    let wanted = agent(name);
    move |scopes| scopes.set(target, &wanted)
}

fn of_user(id: &str, name: &str) -> Value {
    json!({ "channels": {}, "users": { (id): { "agent": name } } })
}

async fn over(shared: &Arc<Shared>) -> Overrides {
    let overrides = unasked(shared);
    overrides.refresh(TIMEOUT).await.unwrap();
    overrides
}

fn unasked(shared: &Arc<Shared>) -> Overrides {
    Overrides::new(Arc::<Shared>::clone(shared))
}

/// Polls until other overrides are in effect.
async fn changed(overrides: &Overrides) -> Arc<Scopes> {
    let mut loaded = overrides.loaded.subscribe();
    let end = CancellationToken::new();
    tokio::select! {
        changed = loaded.changed() => changed.unwrap(),
        () = overrides.keep_current(end) => unreachable!("nobody ends it"),
    }
    overrides.current()
}

#[tokio::test]
async fn saved_change_reaches_the_next_process() {
    let shared = Arc::new(Shared::default());
    let overrides = over(&shared).await;
    assert_eq!(*overrides.current(), Scopes::default());
    let answered = overrides
        .change(set(Target::User("U1"), "coding"))
        .await
        .unwrap();
    assert_eq!(answered, overrides.current());
    assert_eq!(shared.document(), of_user("U1", "coding"));
    assert_eq!(over(&shared).await.current(), overrides.current());
}

#[tokio::test]
async fn racing_writers_both_succeed() {
    let shared = Arc::new(Shared::default());
    let (one, two) = (over(&shared).await, over(&shared).await);
    let (first, second) = tokio::join!(
        one.change(set(Target::User("U1"), "coding")),
        two.change(set(Target::Channel("C1"), "review")),
    );
    assert!(first.is_ok() && second.is_ok());
    let both = json!({ "channels": { "C1": { "agent": "review" } }, "users": { "U1": { "agent": "coding" } } });
    assert_eq!(shared.document(), both);
    assert_eq!(shared.loaded.lock().unwrap().version, 2);
}

#[tokio::test]
async fn changes_of_one_process_wait_for_each_other() {
    let shared = Arc::new(Shared::default());
    let overrides = Arc::new(over(&shared).await);
    let ids: Vec<String> = (0..8).map(|nth| format!("U{nth}")).collect();
    let changes = ids
        .iter()
        .map(|id| overrides.change(set(Target::User(id), "coding")));
    let changed = futures::future::join_all(changes).await;
    assert!(changed.iter().all(Result::is_ok));
    assert_eq!(overrides.current().users.len(), 8);
    assert_eq!(shared.loaded.lock().unwrap().version, 8);
}

#[tokio::test]
async fn second_conflict_is_an_error() {
    let shared = Arc::new(Shared::default());
    let overrides = over(&shared).await;
    *shared.others.lock().unwrap() = vec![of_user("U3", "review"), of_user("U2", "review")];
    let given_up = overrides.change(set(Target::User("U1"), "coding")).await;
    assert!(matches!(given_up, Err(ChangeError::Conflict)));
    assert_eq!(shared.document(), of_user("U3", "review"));
    assert_eq!(
        overrides.current().document().unwrap(),
        of_user("U3", "review")
    );
}

#[tokio::test]
async fn unsaved_change_never_takes_effect() {
    let shared = Arc::new(Shared::default());
    let overrides = over(&shared).await;
    let refused = overrides.change(set(Target::User(""), "coding")).await;
    assert!(matches!(
        refused,
        Err(ChangeError::Refused(Fault::Field { .. }))
    ));
    *shared.is_down.lock().unwrap() = true;
    let down = overrides.change(set(Target::User("U1"), "coding")).await;
    assert!(matches!(
        down,
        Err(ChangeError::Unavailable(LoadError::Store(_)))
    ));
    assert_eq!(*overrides.current(), Scopes::default());
    assert!(matches!(
        unasked(&shared).refresh(TIMEOUT).await,
        Err(LoadError::Store(_))
    ));
}

#[tokio::test]
async fn invalid_document_is_never_overwritten() {
    let shared = Arc::new(Shared::default());
    let overrides = over(&shared).await;
    shared.write(json!({ "channels": { "C1": { "agent": "hunter2 hunter2" } } }));
    let error = unasked(&shared).refresh(TIMEOUT).await.err().unwrap();
    assert!(
        matches!(&error, LoadError::Malformed(fault) if !fault.to_string().contains("hunter2"))
    );
    let changed = overrides.change(set(Target::User("U1"), "coding")).await;
    assert!(matches!(
        changed,
        Err(ChangeError::Unavailable(LoadError::Malformed(_)))
    ));
    assert_eq!(shared.loaded.lock().unwrap().version, 1);
}

#[tokio::test(start_paused = true)]
async fn failed_first_load_is_retried() {
    let shared = Arc::new(Shared::default());
    shared.write(of_user("U1", "coding"));
    *shared.is_down.lock().unwrap() = true;
    let overrides = unasked(&shared);
    assert!(overrides.refresh(TIMEOUT).await.is_err());
    let (found, ()) = tokio::join!(changed(&overrides), async {
        tokio::time::advance(3 * REFRESH_EVERY).await;
        *shared.is_down.lock().unwrap() = false;
    });
    assert_eq!(found.document().unwrap(), of_user("U1", "coding"));
}

#[tokio::test(start_paused = true)]
async fn foreign_change_applies_within_the_interval() {
    let shared = Arc::new(Shared::default());
    let (here, there) = (over(&shared).await, over(&shared).await);
    there
        .change(set(Target::User("U1"), "review"))
        .await
        .unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(changed(&here).await, there.current());
    assert!(began.elapsed() <= REFRESH_EVERY + TIMEOUT);
    // A local change is based on theirs, and a poll does not undo it.
    here.change(set(Target::Channel("C1"), "coding"))
        .await
        .unwrap();
    here.refresh(TIMEOUT).await.unwrap();
    assert_eq!(
        (here.current().users.len(), here.current().channels.len()),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn failed_poll_keeps_the_overrides() {
    let shared = Arc::new(Shared::default());
    shared.write(of_user("U1", "coding"));
    let overrides = over(&shared).await;
    *shared.is_down.lock().unwrap() = true;
    assert!(matches!(
        overrides.refresh(TIMEOUT).await,
        Err(LoadError::Store(_))
    ));
    let _stuck = overrides.changing.lock().await;
    assert!(matches!(
        overrides.refresh(TIMEOUT).await,
        Err(LoadError::Timeout)
    ));
    assert_eq!(
        overrides.current().document().unwrap(),
        of_user("U1", "coding")
    );
}
