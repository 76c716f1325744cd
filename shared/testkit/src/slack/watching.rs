//! Waiting for calls and states, without sleeping.

use super::{
    fake::FakeSlack,
    state::{Call, FakeMessage},
};

impl FakeSlack {
    /// Waits until a condition is true. It is checked after every call, event and connection.
    pub async fn wait_until(&self, is_true: impl Fn(&Self) -> bool) {
        let mut changes = self.shared.changed.subscribe();
        while !is_true(self) {
            changes.changed().await.expect("the fake outlives waiters");
        }
    }

    /// Waits for a call of this method that fits, past ones included, and returns it.
    pub async fn wait_for_call(&self, method: &str, fits: impl Fn(&Call) -> bool) -> Call {
        let find = |fake: &Self| {
            let calls = fake.calls();
            calls
                .into_iter()
                .find(|call| call.method == method && fits(call))
        };
        self.wait_until(|fake| find(fake).is_some()).await;
        find(self).unwrap()
    }

    /// Waits for a message in a channel that fits, and returns it.
    pub async fn wait_for_message(
        &self,
        channel: &str,
        fits: impl Fn(&FakeMessage) -> bool,
    ) -> FakeMessage {
        let find = |fake: &Self| fake.messages(channel).into_iter().find(&fits);
        self.wait_until(|fake| find(fake).is_some()).await;
        find(self).unwrap()
    }

    /// Waits until this many connections are open.
    pub async fn wait_for_connections(&self, count: usize) {
        self.wait_until(|fake| fake.connections() == count).await;
    }

    /// Waits until every sent envelope was acknowledged.
    pub async fn wait_for_acks(&self) {
        self.wait_until(|fake| fake.envelopes().iter().all(|one| one.acked.is_some()))
            .await;
    }
}
