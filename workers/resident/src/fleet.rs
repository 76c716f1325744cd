//! The registry and all resident objects, as this Worker reaches them.

use ars_do_resident::{
    CALL_PATH, CodeHost, Envelope, REGISTRY_BINDING, REGISTRY_NAME, REGISTRY_PATH, RESIDENT_BINDING,
};
use ars_platform::{BUILD, now, post_to};
use ars_resident::{document::read, names::Resource, wire::Build};
use ars_resident_engine::fleet::{Fleet, Membership};
use ars_resident_engine::{Call, Fault, HostError, RegistryCall, RegistryResponse, Reply};
use ars_types::UnixMillis;
use worker::Env;

/// Maximum object response in bytes: a read file as escaped JSON.
const ANSWER_MAX_BYTES: usize = 8 << 20;

/// This Worker's residents.
pub struct WorkerFleet<'a> {
    env: &'a Env,
}

impl<'a> WorkerFleet<'a> {
    /// Returns the residents behind the Worker's bindings.
    pub const fn new(env: &'a Env) -> Self {
        Self { env }
    }

    async fn post(
        &self,
        binding: &str,
        name: &str,
        path: &str,
        document: &str,
    ) -> Result<(u16, String), Fault> {
        let posted = post_to(self.env, binding, name, path, document, ANSWER_MAX_BYTES).await;
        posted.map_err(|cause| HostError::Failed(cause).into())
    }
}

impl Fleet for WorkerFleet<'_> {
    fn now(&self) -> UnixMillis {
        now()
    }

    fn build(&self) -> Build {
        Build {
            commit: BUILD.to_owned(),
            built_at: None,
        }
    }

    async fn registry(&self, call: RegistryCall) -> Result<RegistryResponse, Fault> {
        let document = serde_json::to_string(&call)?;
        match self
            .post(REGISTRY_BINDING, REGISTRY_NAME, REGISTRY_PATH, &document)
            .await?
        {
            (200, text) => Ok(read(&text)?),
            (status, _) => Err(HostError::Failed(format!("the registry answered {status}")).into()),
        }
    }

    async fn resident(&self, resource: &Resource, call: Call) -> Result<Reply, Fault> {
        let document = serde_json::to_string(&Envelope {
            resource: resource.clone(),
            call,
        })?;
        let (status, text) = self
            .post(RESIDENT_BINDING, resource.as_str(), CALL_PATH, &document)
            .await?;
        Ok(Reply {
            status,
            body: serde_json::from_str(&text)?,
        })
    }

    async fn membership(&self, resource: &Resource) -> Membership {
        CodeHost::from_env(self.env).membership(resource).await
    }
}
