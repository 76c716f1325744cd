//! This process's registry and engines.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use ars_resident::names::Resource;
use ars_resident::wire::Build;
use ars_resident_engine::{
    Call, Engine, Fault, HostError, Registry, RegistryCall, RegistryResponse, Reply,
    fleet::{Fleet, Membership},
};
use ars_sql_native::NativeSql;
use ars_types::UnixMillis;
use tokio_util::sync::CancellationToken;

use crate::{
    alarm::{Alarm, ring},
    host::LocalHost,
    places::{Places, remove},
    settings::Settings,
};

/// An engine in this process.
type LocalEngine = Rc<Engine<NativeSql, LocalHost>>;

/// The registry and the engines.
pub(crate) struct LocalFleet {
    settings: Rc<Settings>,
    registry: Rc<Registry<NativeSql>>,
    engines: RefCell<BTreeMap<Resource, LocalEngine>>,
}

impl LocalFleet {
    /// Opens the resident registry.
    pub(crate) fn open(settings: Settings) -> Result<Self, Fault> {
        let sql = NativeSql::open(&settings.folder.join("registry.sqlite3"))?;
        let registry = Rc::new(Registry::open(sql, &settings.build)?);
        Ok(Self {
            settings: Rc::new(settings),
            registry,
            engines: RefCell::default(),
        })
    }

    /// Continues every resident's work.
    pub(crate) async fn resume(&self) -> Result<(), Fault> {
        let RegistryResponse::Records { records, .. } = self.registry.answer(RegistryCall::List)?
        else {
            return Ok(());
        };
        for record in records {
            let engine = self.engine(&record.resource)?;
            tokio::task::spawn_local(async move {
                if let Err(fault) = engine.alarm().await {
                    tracing::error!(
                        error = &fault as &dyn std::error::Error,
                        "a resident could not continue"
                    );
                }
            });
        }
        Ok(())
    }

    /// Answers a call. A command ends once the caller has left.
    pub(crate) async fn call(
        &self,
        resource: &Resource,
        call: Call,
        left: CancellationToken,
    ) -> Reply {
        match self.engine(resource) {
            Ok(engine) => engine.answer_while(call, left.cancelled_owned()).await,
            Err(fault) => Reply::rejected(fault.into()),
        }
    }

    fn engine(&self, resource: &Resource) -> Result<LocalEngine, Fault> {
        if let Some(engine) = self.engines.borrow().get(resource) {
            return Ok(Rc::clone(engine));
        }
        let failed = |error: std::io::Error| HostError::Failed(error.to_string());
        let places = Places::create(&self.settings.folder, resource).map_err(failed)?;
        // Listed before the engine can remove a disk, so that nothing is removed twice.
        for disk in places.leftovers().map_err(failed)? {
            tokio::task::spawn_blocking(move || {
                if let Err(error) = remove(&disk) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "an old disk stays until the next start");
                }
            });
        }
        let alarm = Rc::new(Alarm::default());
        let sql = NativeSql::open(&places.database())?;
        let (settings, registry) = (Rc::clone(&self.settings), Rc::clone(&self.registry));
        let host = LocalHost::new(
            resource.clone(),
            places,
            settings,
            registry,
            Rc::clone(&alarm),
        );
        let engine = Engine::open(sql, host)?;
        tokio::task::spawn_local(ring(alarm, Rc::clone(&engine)));
        self.engines
            .borrow_mut()
            .insert(resource.clone(), Rc::clone(&engine));
        Ok(engine)
    }
}

impl Fleet for LocalFleet {
    fn now(&self) -> UnixMillis {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn build(&self) -> Build {
        Build {
            commit: self.settings.build.clone(),
            built_at: None,
        }
    }

    async fn registry(&self, call: RegistryCall) -> Result<RegistryResponse, Fault> {
        self.registry.answer(call)
    }

    async fn resident(&self, resource: &Resource, call: Call) -> Result<Reply, Fault> {
        let engine = self.engine(resource)?;
        Ok(engine.answer(call).await)
    }

    async fn membership(&self, resource: &Resource) -> Membership {
        match (self.settings.origins)(resource) {
            Some(_) => Membership::Proven,
            None => Membership::Absent(format!("{resource} has no origin on this machine")),
        }
    }
}
