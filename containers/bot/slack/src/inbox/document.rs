//! A list in a document that all processes share and change.

use ars_bot_ports::{Documents, Replacement, StoreError, StoreErrorKind};
use serde_json::{Value, json};

/// Maximum attempts to write; those after the first follow a conflict with another process.
const MAX_WRITE_ATTEMPTS: usize = 8;

/// A document with one list.
pub(super) struct SharedList {
    /// Key of the document.
    pub(super) key: &'static str,
    /// The document's field with the list.
    pub(super) field: &'static str,
}

impl SharedList {
    /// Returns the list, or `None` if there is none.
    ///
    /// # Errors
    /// The store did not answer.
    pub(super) async fn read(
        &self,
        documents: &dyn Documents,
    ) -> Result<Option<Value>, StoreError> {
        Ok(self.newest(documents).await?.0)
    }

    /// Changes the newest list at each attempt. `change` returns the new list, or
    /// `None` to leave it, and a result.
    ///
    /// # Errors
    /// The store rejected the change, or other processes were always first.
    pub(super) async fn change<T>(
        &self,
        documents: &dyn Documents,
        change: impl Fn(Option<Value>) -> Result<(Option<Value>, T), StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let (list, version) = self.newest(documents).await?;
            let (list, result) = change(list)?;
            let Some(list) = list else { return Ok(result) };
            let document = json!({ self.field: list });
            match documents.replace(self.key, &document, version).await? {
                Replacement::Saved(_) => return Ok(result),
                Replacement::Stale(_) => {}
            }
        }
        Err(failed(format!("other processes wrote {} first", self.key)))
    }

    async fn newest(&self, documents: &dyn Documents) -> Result<(Option<Value>, u64), StoreError> {
        let found = documents.newest(self.key).await?;
        // A document without the field is no empty list.
        let list = found.document.map(|mut document| {
            let field = document.get_mut(self.field);
            field.map(Value::take).unwrap_or_default()
        });
        Ok((list, found.version))
    }
}

/// Returns a failure that another attempt may repair.
pub(super) fn failed(message: String) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Transient,
        message,
    }
}
