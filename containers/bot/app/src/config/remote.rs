//! `state://<key>` as the configuration's path: the state Worker document under that key.
//!
//! The document is `{"yaml": "…"}`, `{"json": "…"}` or `{"toml": "…"}`: a file's text, for the same
//! strict parser. Not here: overrides at run time (`ars_bot_core::overrides`).

use std::{path::Path, time::Duration};

use ars_auth::Secret;
use ars_bot_adapters::stores::WorkerStores;
use ars_bot_ports::{Documents, StoreError, StoreErrorKind};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{ConfigError, File, Format, RemoteError, parse};

/// Prefix for such a path.
const SCHEME: &str = "state://";
/// Timeout for an unavailable store, which may be starting too.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// First backoff; each further backoff doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Returns the document's key, if the path names a document.
pub fn key(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(SCHEME)
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Document {
    Toml(String),
    Yaml(String),
    Json(String),
}

impl Document {
    fn parse(&self) -> Result<File, ConfigError> {
        match self {
            Self::Toml(text) => parse(text, Format::Toml),
            Self::Yaml(text) => parse(text, Format::Yaml),
            Self::Json(text) => parse(text, Format::Json),
        }
    }
}

/// Reads the document, with retries while the store may be starting.
pub async fn load(key: &str, url: &str, token: &Secret) -> Result<File, RemoteError> {
    let store = WorkerStores::connect(url, token, None).map_err(RemoteError::Store)?;
    read(async || store.newest(key).await.map(|found| found.document)).await
}

async fn read(
    newest: impl AsyncFn() -> Result<Option<Value>, StoreError>,
) -> Result<File, RemoteError> {
    let (began, mut wait) = (Instant::now(), FIRST_WAIT);
    let found = loop {
        match newest().await {
            Ok(found) => break found,
            Err(error)
                if error.kind == StoreErrorKind::Transient
                    && began.elapsed() + wait < READ_TIMEOUT =>
            {
                sleep(wait).await;
                wait *= 2;
            }
            Err(error) => return Err(RemoteError::Store(error)),
        }
    };
    let document = found.ok_or(RemoteError::Missing)?;
    // Serde's error could quote a value.
    let document: Document = serde_json::from_value(document).map_err(|_| RemoteError::Shape)?;
    Ok(document.parse()?)
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Mutex};

    use serde_json::json;

    use super::*;

    type Answer = Result<Option<Value>, StoreErrorKind>;

    /// Loads from a store with scripted answers; the last answer repeats.
    async fn asked(answers: Vec<Answer>) -> Result<File, RemoteError> {
        let left = Mutex::new(answers);
        read(async || {
            let mut left = left.lock().unwrap();
            let next = if left.len() > 1 {
                left.remove(0)
            } else {
                left[0].clone()
            };
            next.map_err(|kind| StoreError {
                kind,
                message: "scripted".into(),
            })
        })
        .await
    }

    fn document(text: &str) -> Answer {
        Ok(Some(json!({"toml": text})))
    }

    #[tokio::test(start_paused = true)]
    async fn document_is_loaded_after_transient_failures() {
        let answers = vec![
            Err(StoreErrorKind::Transient),
            Err(StoreErrorKind::Transient),
            document("[defaults]\nagent = \"coding\""),
        ];
        let file = asked(answers).await.unwrap();
        assert_eq!(file.defaults.agent.as_deref(), Some("coding"));
    }

    #[tokio::test]
    async fn document_names_its_format() {
        for document in [
            json!({"toml": "[defaults]\nagent = \"coding\""}),
            json!({"yaml": "defaults:\n  agent: coding"}),
            json!({"json": "{\"defaults\": {\"agent\": \"coding\"}}"}),
        ] {
            let file = asked(vec![Ok(Some(document))]).await.unwrap();
            assert_eq!(file.defaults.agent.as_deref(), Some("coding"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unavailable_store_times_out() {
        let began = Instant::now();
        let refused = asked(vec![Err(StoreErrorKind::Transient)])
            .await
            .unwrap_err();
        assert!(matches!(refused, RemoteError::Store(_)) && began.elapsed() < READ_TIMEOUT);
        assert!(began.elapsed() > READ_TIMEOUT / 4, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn invalid_document_is_not_quoted() {
        let said = |error: RemoteError| error.to_string();
        assert!(said(asked(vec![Ok(None)]).await.unwrap_err()).contains("no such document"));
        for odd in [
            json!({}),
            json!({"toml": 7}),
            json!({"ini": ""}),
            json!({"toml": "", "x": "sk-secret"}),
        ] {
            assert!(matches!(
                asked(vec![Ok(Some(odd))]).await,
                Err(RemoteError::Shape)
            ));
        }
        let malformed = said(
            asked(vec![document("[defaults]\nagent = [\"sk-secret\"]")])
                .await
                .unwrap_err(),
        );
        assert!(
            malformed.contains("line 2") && !malformed.contains("secret"),
            "{malformed}"
        );
        let unauthorised = asked(vec![Err(StoreErrorKind::Permanent)])
            .await
            .unwrap_err();
        assert!(matches!(unauthorised, RemoteError::Store(_)));
    }

    #[test]
    fn only_the_scheme_names_a_document() {
        assert_eq!(key(&PathBuf::from("state://base")), Some("base"));
        assert_eq!(key(&PathBuf::from("/etc/state://base")), None);
    }
}
