//! The confinement of commands of residents on this machine: the sandbox and the proxy of local trees.

use std::{ffi::OsString, io, sync::Arc};

use ars_resident::daemon::RefusedHost;
use ars_sandboxd::{Confine, Confined, Place};

use crate::{
    egress::{Gate, RunEgress, Scope},
    sandbox::{Access, Reach, Sandbox},
    workspace::Commands,
};

/// The confinement of the commands of one repository.
pub(super) struct SandboxConfine {
    pub(super) commands: Arc<Commands>,
    /// Name and origin of the repository, which decide about the hosts of its commands.
    pub(super) repository: String,
    pub(super) origin: Option<String>,
}

/// The confinement of one program.
struct SandboxedProgram {
    sandbox: Arc<Sandbox>,
    access: Access,
    /// Its proxy, which ends with it.
    gate: Option<Gate>,
    /// The refusals of the proxy.
    egress: Option<Arc<RunEgress>>,
}

impl Confine for SandboxConfine {
    fn confine(&self, place: &Place) -> io::Result<Arc<dyn Confined>> {
        let Commands { sandbox, gate, egress, logins, .. } = &*self.commands;
        let scope = Scope { agent: None, repository: Some(&self.repository), origin: self.origin.as_deref() };
        let kind = gate.filter(|_| place.has_network);
        let egress = kind.map(|_| RunEgress::new(egress, scope, logins));
        let gate = kind.zip(egress.as_ref()).map(|(kind, egress)| Gate::open(egress, kind)).transpose()?;
        let access = Access {
            writable: place.writable.clone(),
            readable: place.readable.clone(),
            temporary: place.temporary.clone(),
            reach: Reach::of(gate.as_ref(), sandbox.network(), place.has_network),
        };
        Ok(Arc::new(SandboxedProgram { sandbox: Arc::clone(sandbox), access, gate, egress }))
    }
}

impl Confined for SandboxedProgram {
    fn words(&self) -> Vec<OsString> {
        self.sandbox.arguments(&self.access)
    }

    fn restrict_thread(&self) -> io::Result<()> {
        self.sandbox.confine_this_thread(&self.access).map(drop)
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let variables = self.gate.iter().flat_map(Gate::variables);
        variables.map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn refused(&self) -> Vec<RefusedHost> {
        let refused = self.egress.iter().flat_map(|egress| egress.take_refused());
        let report = |refused: ars_bot_ports::RefusedHost| RefusedHost {
            host: refused.host,
            reason: refused.reason,
            setting: refused.setting,
        };
        refused.map(report).collect()
    }
}
