//! The user pool: each thread and each operation runs as a separate user.
//!
//! `worker1` builds the checkout and owns the dependency store. `worker2` to `worker17` are the
//! pool.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::names::StrictThreadKey;
use crate::refusal::{Refusal, Token};

/// Number of the first pool user.
const FIRST: u8 = 2;
/// The build user's name.
pub const BUILD_USER: &str = "worker1";
/// The build user's id in the image.
pub const BUILD_UID: u32 = 2_001;
/// Users in the pool.
pub const POOL_USERS_MAX: u8 = 16;

/// A pool user. No value names another user, so no other user's processes can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolUser(u8);

impl PoolUser {
    /// Returns every pool user, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (FIRST..FIRST + POOL_USERS_MAX).map(Self)
    }

    /// Parses a user's name. Returns `None` for a user outside the pool.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|user| user.to_string() == name)
    }

    /// Returns the user's id in the image.
    pub const fn uid(self) -> u32 {
        2_000 + self.0 as u32
    }
}

impl fmt::Display for PoolUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker{}", self.0)
    }
}

impl Serialize for PoolUser {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PoolUser {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| D::Error::custom("this is no pool user"))
    }
}

/// Who holds a pool user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// A thread, until the tree is evicted.
    Thread(StrictThreadKey),
    /// An operation, until it ends.
    Op(u64),
}

/// A user that was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// The user for the holder.
    pub user: PoolUser,
    /// The holder had no user before. Such an allocation is rolled back if the work fails.
    pub is_fresh: bool,
}

/// The users in use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pool {
    holders: BTreeMap<PoolUser, Holder>,
}

impl Pool {
    /// Returns whether no thread or operation has the user.
    pub fn is_free(&self, user: PoolUser) -> bool {
        !self.holders.contains_key(&user)
    }

    /// Returns the highest free user, which others get last.
    pub fn highest_free(&self) -> Option<PoolUser> {
        PoolUser::all().filter(|user| self.is_free(*user)).last()
    }

    /// Returns the holder's user, or allocates the preferred user, else the lowest free user.
    pub fn allocate(
        &mut self,
        holder: &Holder,
        preferred: Option<PoolUser>,
    ) -> Result<Allocation, Refusal> {
        if let Some(user) = self.user_of(holder) {
            return Ok(Allocation {
                user,
                is_fresh: false,
            });
        }
        let preferred = preferred.filter(|user| self.is_free(*user));
        let lowest_free = || PoolUser::all().find(|user| self.is_free(*user));
        let Some(user) = preferred.or_else(lowest_free) else {
            let detail = format!(
                "all {POOL_USERS_MAX} users are in use; wait until a run or operation ends"
            );
            return Err(Refusal::new(Token::UserPoolExhausted, &detail));
        };
        self.holders.insert(user, holder.clone());
        Ok(Allocation {
            user,
            is_fresh: true,
        })
    }

    /// Returns the holder's user to the pool.
    pub fn release(&mut self, holder: &Holder) {
        self.holders.retain(|_, other| other != holder);
    }

    /// Returns a holder's user.
    pub fn user_of(&self, holder: &Holder) -> Option<PoolUser> {
        self.holders
            .iter()
            .find(|(_, other)| *other == holder)
            .map(|(user, _)| *user)
    }

    /// Returns the threads that hold a user. After an object restart only those with a binding keep
    /// it.
    pub fn threads(&self) -> impl Iterator<Item = StrictThreadKey> {
        self.holders.values().filter_map(|holder| match holder {
            Holder::Thread(key) => Some(key.clone()),
            Holder::Op(_) => None,
        })
    }

    /// Returns the operations that hold a user. After an object restart none of them runs.
    pub fn ops(&self) -> impl Iterator<Item = u64> {
        self.holders.values().filter_map(|holder| match holder {
            Holder::Op(number) => Some(*number),
            Holder::Thread(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thread(number: u8) -> Holder {
        Holder::Thread(StrictThreadKey::parse(format!("load:{number}")).unwrap())
    }

    #[test]
    fn other_users_are_not_of_the_pool() {
        assert_eq!(PoolUser::all().count(), 16);
        for name in ["root", "worker1", "worker18", "worker02", "nobody", ""] {
            assert_eq!(PoolUser::parse(name), None, "{name}");
            assert!(serde_json::from_str::<PoolUser>(&format!("{name:?}")).is_err());
        }
        assert_eq!(PoolUser::parse("worker17").map(PoolUser::uid), Some(2017));
    }

    proptest! {
        /// Threads and operations never share a user, and a released user is available again.
        #[test]
        fn users_are_exclusive(ops in prop::collection::vec((0..40_u8, any::<bool>()), 0..120)) {
            let mut pool = Pool::default();
            let mut holders = Vec::new();
            for (number, releases) in ops {
                let holder = if number % 2 == 0 { thread(number) } else { Holder::Op(number.into()) };
                if releases {
                    pool.release(&holder);
                    holders.retain(|other| *other != holder);
                } else {
                    let was_held = holders.contains(&holder);
                    match pool.allocate(&holder, PoolUser::all().nth(number.into())) {
                        Ok(allocation) => prop_assert_eq!(allocation.is_fresh, !was_held),
                        Err(refusal) => {
                            prop_assert_eq!(refusal.status(), 429);
                            prop_assert_eq!(holders.len(), 16);
                            continue;
                        }
                    }
                    if !was_held { holders.push(holder); }
                }
                let users: std::collections::BTreeSet<_> = holders.iter().map(|holder| pool.user_of(holder)).collect();
                prop_assert_eq!(users.len(), holders.len());
                prop_assert!(!users.contains(&None));
            }
        }
    }
}
