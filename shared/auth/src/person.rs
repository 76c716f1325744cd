//! A person: accounts on several surfaces that belong to one human.
//!
//! Not here: which accounts can belong to a person (`people.rs`).

/// A person's accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    accounts: Vec<String>,
}

impl Person {
    pub(crate) fn new(accounts: Vec<String>) -> Self {
        Self { accounts }
    }

    /// Returns the account under which the person's memory and settings are stored.
    pub fn main_account(&self) -> &str {
        self.accounts.first().map_or("", String::as_str)
    }

    /// Returns all accounts, the main account first.
    pub fn accounts(&self) -> &[String] {
        &self.accounts
    }
}
