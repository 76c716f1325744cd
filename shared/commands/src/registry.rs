//! An installation's commands.

use crate::{Capability, Definition, Fault, Surface, check};

/// The commands that have their capability, and those that lack it.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    commands: Vec<&'static Definition>,
    off: Vec<&'static Definition>,
}

impl Registry {
    /// Returns the commands in a table that this installation has, in table order.
    ///
    /// # Errors
    ///
    /// The table is invalid.
    pub fn new(
        definitions: &[&'static Definition],
        available: &[Capability],
    ) -> Result<Self, Fault> {
        check(definitions)?;
        let is_on = |definition: &&'static Definition| {
            definition
                .capability
                .is_none_or(|capability| available.contains(&capability))
        };
        let (commands, off) = definitions.iter().copied().partition(is_on);
        Ok(Self { commands, off })
    }

    /// Returns a surface's commands.
    pub fn on(&self, surface: Surface) -> impl Iterator<Item = &'static Definition> {
        self.commands
            .iter()
            .copied()
            .filter(move |definition| definition.surfaces.contain(surface))
    }

    /// Returns the command with this id if the surface has it.
    pub fn get(&self, id: &str, surface: Surface) -> Option<&'static Definition> {
        self.on(surface).find(|definition| definition.id == id)
    }

    /// Returns the command with this id that the surface lacks only because the capability is off.
    pub fn get_off(&self, id: &str, surface: Surface) -> Option<&'static Definition> {
        self.off_on(surface).find(|definition| definition.id == id)
    }

    /// Returns the command behind an MCP tool.
    pub fn tool(&self, name: &str) -> Option<&'static Definition> {
        let (group, verb) = name.split_once('_')?;
        self.find(group, verb, Surface::Mcp)
    }

    /// Returns a surface's groups, in order.
    pub fn groups(&self, surface: Surface) -> Vec<&'static str> {
        let mut groups: Vec<_> = self.on(surface).map(Definition::group).collect();
        groups.dedup();
        groups
    }

    /// Returns a surface's commands that are off with their capability.
    pub(crate) fn off_on(&self, surface: Surface) -> impl Iterator<Item = &'static Definition> {
        self.off
            .iter()
            .copied()
            .filter(move |definition| definition.surfaces.contain(surface))
    }

    pub(crate) fn find(
        &self,
        group: &str,
        verb: &str,
        surface: Surface,
    ) -> Option<&'static Definition> {
        self.on(surface)
            .find(|definition| definition.group() == group && definition.verb() == verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Surfaces;

    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists");
    const GET: Definition =
        Definition::read("runs.get", "runs:read", "Gets").on(Surfaces::NOT_CHAT);
    const RECALL: Definition =
        Definition::read("memory.list", "memory:read", "Lists").needing(Capability::Memory);

    #[test]
    fn command_without_its_capability_is_absent() {
        let registry = Registry::new(&[&LIST, &GET, &RECALL], &[]).unwrap();
        for surface in Surface::ALL {
            assert_eq!(registry.get("memory.list", surface), None);
            assert_eq!(registry.get_off("memory.list", surface), Some(&RECALL));
        }
        assert_eq!(
            (registry.groups(Surface::Chat), registry.tool("memory_list")),
            (vec!["runs"], None)
        );
        let registry = Registry::new(&[&LIST, &GET, &RECALL], &[Capability::Memory]).unwrap();
        assert_eq!(registry.groups(Surface::Mcp), ["runs", "memory"]);
        assert_eq!(registry.tool("memory_list"), Some(&RECALL));
        assert_eq!(registry.get_off("memory.list", Surface::Chat), None);
    }

    #[test]
    fn command_is_absent_from_surfaces_that_lack_it() {
        let registry = Registry::new(&[&LIST, &GET], &[]).unwrap();
        assert_eq!(registry.get("runs.get", Surface::Chat), None);
        assert_eq!(registry.get("runs.get", Surface::Api), Some(&GET));
        for id in ["runs", "runs_get", "runs.GET", ""] {
            assert_eq!(registry.get(id, Surface::Api), None, "{id}");
        }
    }

    #[test]
    fn invalid_table_is_rejected() {
        assert_eq!(
            Registry::new(&[&LIST, &LIST], &[]).unwrap_err(),
            Fault::Duplicate("runs.list")
        );
    }
}
