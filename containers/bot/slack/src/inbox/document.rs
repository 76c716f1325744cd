//! A list in a document that all processes share and change.

use ars_bot_ports::{Documents, StoreError};
use serde_json::{Value, json};

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
        let found = documents.newest(self.key).await?;
        Ok(self.list(found.document))
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
        let change = |document| {
            let (list, result) = change(self.list(document))?;
            Ok((list.map(|list| json!({ self.field: list })), result))
        };
        documents.change(self.key, change).await
    }

    /// Returns a document's list. A document without the field is no empty list.
    fn list(&self, document: Option<Value>) -> Option<Value> {
        document.map(|mut document| {
            let field = document.get_mut(self.field);
            field.map(Value::take).unwrap_or_default()
        })
    }
}
