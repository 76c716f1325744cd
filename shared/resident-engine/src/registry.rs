//! The registry: one row per resident, the cap, and overrides for tests.
//!
//! Every change is a single transaction without an `await`, so the cap is never exceeded.

use ars_resident::document::{Fields, read, tagged, unknown_tag, value_of};
use ars_resident::names::Resource;
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::{Record, TestOverrides, check_insert};
use ars_sql::{Migration, Sql, Value, migrate};
use ars_types::UnixMillis;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, Fault};

/// The registry's migrations, `migrations/resident-registry/`.
pub const REGISTRY_MIGRATIONS: &[Migration] = &[Migration {
    name: "0001_registry",
    sql: include_str!("../../../migrations/resident-registry/0001_registry.sql"),
}];

const LIST: &str = "SELECT record FROM residents ORDER BY resource";
const GET: &str = "SELECT record FROM residents WHERE resource = ?1";
const PUT: &str = "INSERT INTO residents (resource, record) VALUES (?1, ?2) \
    ON CONFLICT (resource) DO UPDATE SET record = excluded.record";
const REMOVE: &str = "DELETE FROM residents WHERE resource = ?1 \
    AND (?2 IS NULL OR record ->> 'onboardedAt' = ?2) RETURNING record";

/// A call to the registry. It crosses objects as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "call",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum RegistryCall {
    /// Inserts a record under the cap.
    Insert {
        /// The record to store.
        record: Box<Record>,
    },
    /// Replaces a row by a new record, if the row was not replaced since it was read.
    Swap {
        /// The row to remove.
        evicted: Resource,
        /// When the row was first written.
        onboarded_at: UnixMillis,
        /// The record to store.
        record: Box<Record>,
    },
    /// Returns a single record.
    Get {
        /// Resource that names the row.
        resource: Resource,
    },
    /// Returns all records and the cap.
    List,
    /// Replaces the record in a row.
    Update {
        /// The record to store.
        record: Box<Record>,
    },
    /// Removes a row, with `onboarded_at` only the row from that time.
    Remove {
        /// Resource that names the row.
        resource: Resource,
        /// When the row was first written.
        onboarded_at: Option<UnixMillis>,
    },
    /// Sets or clears limits that a test lowers.
    Override {
        /// The limits to override.
        overrides: TestOverrides,
    },
}

impl<'de> Deserialize<'de> for RegistryCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer, "call", Self::read)
    }
}

impl RegistryCall {
    fn read(tag: &str, mut fields: Fields) -> Result<Self, serde_json::Error> {
        Ok(match tag {
            "insert" => Self::Insert {
                record: fields.take("record")?,
            },
            "swap" => Self::Swap {
                evicted: fields.take("evicted")?,
                onboarded_at: fields.take("onboardedAt")?,
                record: fields.take("record")?,
            },
            "get" => Self::Get {
                resource: fields.take("resource")?,
            },
            "list" => Self::List,
            "update" => Self::Update {
                record: fields.take("record")?,
            },
            "remove" => Self::Remove {
                resource: fields.take("resource")?,
                onboarded_at: fields.take("onboardedAt")?,
            },
            "override" => Self::Override {
                overrides: fields.take("overrides")?,
            },
            _ => return unknown_tag(tag),
        })
    }
}

/// A reply from the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum RegistryResponse {
    /// The change was made, or there was nothing to change.
    Done {
        /// A row was removed.
        removed: bool,
    },
    /// The reply to `Get`.
    Record {
        /// The record, if there is a row.
        record: Option<Box<Record>>,
        /// The test override for the age from which an attach fetches.
        #[serde(skip_serializing_if = "Option::is_none")]
        stale_after_s: Option<u32>,
    },
    /// The reply to `List`.
    Records {
        /// The records, sorted by resource.
        records: Vec<Record>,
        /// The cap in force.
        cap: u32,
        /// The overrides in force, if any.
        overrides: Option<TestOverrides>,
    },
    /// The change is rejected.
    Refused {
        /// HTTP status for the refusal.
        status: u16,
        /// Body of the response.
        body: serde_json::Value,
    },
}

impl<'de> Deserialize<'de> for RegistryResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer, "is", Self::read)
    }
}

impl RegistryResponse {
    fn read(tag: &str, mut fields: Fields) -> Result<Self, serde_json::Error> {
        Ok(match tag {
            "done" => Self::Done {
                removed: fields.take("removed")?,
            },
            "record" => Self::Record {
                record: fields.take("record")?,
                stale_after_s: fields.take("staleAfterS")?,
            },
            "records" => Self::Records {
                records: fields.take("records")?,
                cap: fields.take("cap")?,
                overrides: fields.take("overrides")?,
            },
            "refused" => Self::Refused {
                status: fields.take("status")?,
                body: fields.take("body")?,
            },
            _ => return unknown_tag(tag),
        })
    }
}

/// The registry in a single database.
pub struct Registry<S> {
    sql: S,
    build: String,
}

impl<S: Sql> Registry<S> {
    /// Opens a build's registry. Another build's overrides do not count.
    ///
    /// # Errors
    /// The schema could not be applied.
    pub fn open(sql: S, build: &str) -> Result<Self, Fault> {
        migrate(&sql, REGISTRY_MIGRATIONS)?;
        Ok(Self {
            sql,
            build: build.to_owned(),
        })
    }

    /// Answers a call.
    ///
    /// # Errors
    /// The storage failed.
    pub fn answer(&self, call: RegistryCall) -> Result<RegistryResponse, Fault> {
        let result = match call {
            RegistryCall::Insert { record } => self.insert(&record),
            RegistryCall::Swap {
                evicted,
                onboarded_at,
                record,
            } => self.swap(&evicted, onboarded_at, &record),
            RegistryCall::Get { resource } => {
                let stale_after_s = self.overrides()?.and_then(|set| set.floor_s);
                return Ok(RegistryResponse::Record {
                    record: self.get(&resource)?.map(Box::new),
                    stale_after_s,
                });
            }
            RegistryCall::List => {
                let overrides = self.overrides()?;
                let (records, cap) = (self.list()?, self.cap(overrides.as_ref()));
                return Ok(RegistryResponse::Records {
                    records,
                    cap,
                    overrides,
                });
            }
            RegistryCall::Update { record } => self.update(&record),
            RegistryCall::Remove {
                resource,
                onboarded_at,
            } => {
                return Ok(RegistryResponse::Done {
                    removed: self.remove(&resource, onboarded_at)?,
                });
            }
            RegistryCall::Override { overrides } => {
                self.set_overrides(&overrides).map_err(Error::from)
            }
        };
        match result {
            Ok(()) => Ok(RegistryResponse::Done { removed: false }),
            Err(Error::Refused(refusal)) => Ok(RegistryResponse::Refused {
                status: refusal.status(),
                body: value_of(&*refusal)?,
            }),
            Err(Error::Fault(fault)) => Err(fault),
        }
    }

    fn insert(&self, record: &Record) -> Result<(), Error> {
        self.sql.transaction(|| {
            let rows: Vec<Resource> = self.list()?.into_iter().map(|row| row.resource).collect();
            let overrides = self.overrides()?;
            check_insert(&record.resource, &rows, self.cap(overrides.as_ref()))?;
            self.put(record)
        })
    }

    fn swap(
        &self,
        evicted: &Resource,
        onboarded_at: UnixMillis,
        record: &Record,
    ) -> Result<(), Error> {
        self.sql.transaction(|| {
            if !self.remove(evicted, Some(onboarded_at))? {
                let detail = "the coldest resident changed meanwhile; repeat the request";
                return Err(Refusal::new(Token::OverCap, detail).into());
            }
            let rows: Vec<Resource> = self.list()?.into_iter().map(|row| row.resource).collect();
            let overrides = self.overrides()?;
            check_insert(&record.resource, &rows, self.cap(overrides.as_ref()))?;
            self.put(record)
        })
    }

    fn update(&self, record: &Record) -> Result<(), Error> {
        self.sql.transaction(|| match self.get(&record.resource)? {
            Some(old) if old.onboarded_at == record.onboarded_at => self.put(record),
            _ => Err(Refusal::new(Token::NotOnboarded, record.resource.as_str()).into()),
        })
    }

    fn put(&self, record: &Record) -> Result<(), Error> {
        let json = serde_json::to_string(record).map_err(Fault::from)?;
        Ok(self
            .sql
            .execute(PUT, &[record.resource.as_str().into(), json.into()])?)
    }

    fn get(&self, resource: &Resource) -> Result<Option<Record>, Fault> {
        let rows = self.sql.query(GET, &[resource.as_str().into()])?;
        rows.first().map(|row| Ok(read(row.text(0)?)?)).transpose()
    }

    fn list(&self) -> Result<Vec<Record>, Fault> {
        let rows = self.sql.query(LIST, &[])?;
        rows.iter().map(|row| Ok(read(row.text(0)?)?)).collect()
    }

    fn remove(&self, resource: &Resource, onboarded_at: Option<UnixMillis>) -> Result<bool, Fault> {
        let params = [Value::from(resource.as_str()), Value::from(onboarded_at)];
        Ok(!self.sql.query(REMOVE, &params)?.is_empty())
    }

    fn cap(&self, overrides: Option<&TestOverrides>) -> u32 {
        overrides.map_or(ars_resident::registry::RESIDENTS_MAX, |set| {
            set.cap_for(&self.build)
        })
    }

    fn overrides(&self) -> Result<Option<TestOverrides>, Fault> {
        let rows = self.sql.query("SELECT overrides FROM overrides", &[])?;
        let stored: Option<TestOverrides> = rows
            .first()
            .map(|row| Ok::<_, Fault>(read(row.text(0)?)?))
            .transpose()?;
        Ok(stored.filter(|overrides| overrides.build == self.build))
    }

    /// Stores overrides. Empty overrides clear the row.
    fn set_overrides(&self, overrides: &TestOverrides) -> Result<(), Fault> {
        if overrides.cap.is_none() && overrides.floor_s.is_none() {
            return Ok(self.sql.execute("DELETE FROM overrides", &[])?);
        }
        let json = serde_json::to_string(overrides)?;
        let put = "INSERT INTO overrides (id, overrides) VALUES (1, ?1) \
            ON CONFLICT (id) DO UPDATE SET overrides = excluded.overrides";
        Ok(self.sql.execute(put, &[json.into()])?)
    }
}
