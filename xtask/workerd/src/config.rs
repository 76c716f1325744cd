//! Writes workerd's own configuration for one Worker.
//!
//! What the Worker may reach is listed here in full: its Durable Objects, kept in one directory, and its
//! secrets, named but not held (workerd reads them from its environment). It has no way out to the network.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::Wrangler;

/// The one socket's name, in the configuration and in workerd's report of its port.
pub(crate) const SOCKET: &str = "http";

/// The configuration's text. Modules are embedded from the import path; the first is the entry.
pub(crate) fn capnp(
    wrangler: &Wrangler,
    modules: &[&str],
    secrets: &[&str],
    port: u16,
    objects: &Path,
) -> Result<String> {
    let bindings = wrangler
        .objects
        .iter()
        .map(|object| {
            Ok(format!(
                "(name = {}, durableObjectNamespace = {})",
                text(&object.binding)?,
                text(&object.class)?
            ))
        })
        .chain(secrets.iter().map(|name| Ok(format!("(name = {0}, fromEnvironment = {0})", text(name)?))))
        .collect::<Result<Vec<_>>>()?
        .join(",\n    ");
    let namespaces = wrangler
        .objects
        .iter()
        .map(|object| {
            let key = text(&format!("{}-{}", wrangler.name, object.class))?;
            Ok(format!(
                "(className = {}, uniqueKey = {key}, enableSql = {})",
                text(&object.class)?,
                object.sqlite
            ))
        })
        .collect::<Result<Vec<_>>>()?
        .join(",\n    ");
    let modules = modules
        .iter()
        .map(|name| {
            let kind = if name.ends_with(".wasm") { "wasm" } else { "esModule" };
            Ok(format!("(name = {}, {kind} = embed {})", text(name)?, text(&format!("/{name}"))?))
        })
        .collect::<Result<Vec<_>>>()?
        .join(",\n    ");
    let flags =
        wrangler.compatibility_flags.iter().map(|flag| text(flag)).collect::<Result<Vec<_>>>()?.join(", ");
    let date = text(&wrangler.compatibility_date)?;
    let directory = text(&objects.to_string_lossy())?;
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = {directory}, writable = true)),
    (name = "nowhere", network = (allow = [])),
  ],
  sockets = [(name = "{SOCKET}", address = "127.0.0.1:{port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [
    {modules}
  ],
  compatibilityDate = {date},
  compatibilityFlags = [{flags}],
  globalOutbound = "nowhere",
  bindings = [
    {bindings}
  ],
  durableObjectNamespaces = [
    {namespaces}
  ],
  durableObjectStorage = (localDisk = "objects"),
);
"#
    ))
}

/// A text literal of the configuration language.
fn text(value: &str) -> Result<String> {
    ensure!(!value.chars().any(char::is_control), "a control character in a name or path");
    Ok(format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_quotes() {
        assert_eq!(text(r#"a"b\c"#).unwrap(), r#""a\"b\\c""#);
        assert!(text("a\nb").is_err());
    }
}
