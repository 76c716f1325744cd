//! Writes workerd's configuration for a single Worker.
//!
//! It lists everything the Worker may reach: its Durable Objects, stored in a directory, and its
//! secrets' names, which workerd reads from its environment. It has no access to the network,
//! unless its bot runs on this machine; its containers run on the engine behind a socket. Cron
//! tests put a clock in front of it. Not here: the services behind its buckets (`bucket`).

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{Engine, ObjectBinding, Settings, bucket};

/// The only socket's name, in the configuration and in workerd's port report.
pub(crate) const SOCKET: &str = "http";

/// The path at which a clock reports a minute to the Worker: the same as in the platform's own
/// tools.
pub const TICK_ROUTE: &str = "/cdn-cgi/handler/scheduled";

/// The configuration's text. Modules are embedded from the import path; the first is the entry.
pub(crate) fn capnp(
    settings: &Settings,
    modules: &[&str],
    secrets: &[&str],
    objects: &Path,
) -> Result<String> {
    let (wrangler, engine) = (&settings.wrangler, settings.engine.as_ref());
    let (host, port) = (settings.host, settings.port);
    let bindings = bindings(settings, secrets)?;
    let namespaces = wrangler
        .objects
        .iter()
        .map(|object| namespace(&wrangler.name, object, engine))
        .collect::<Result<Vec<_>>>()?
        .join(",\n    ");
    let engine = match engine {
        None => String::new(),
        Some(engine) => {
            let socket = text(&format!("unix:{}", engine.socket.display()))?;
            format!("\n  containerEngine = (localDocker = (socketPath = {socket})),")
        }
    };
    let (service, clock) = if settings.ticks {
        ("clock", clock())
    } else {
        ("main", String::new())
    };
    let clock_service = if settings.ticks {
        "\n    (name = \"clock\", worker = .clock),"
    } else {
        ""
    };
    let network = if settings.outbound {
        r#""public", "private""#
    } else {
        ""
    };
    let modules = embedded(modules)?;
    let flags = wrangler
        .compatibility_flags
        .iter()
        .map(|flag| text(flag))
        .collect::<Result<Vec<_>>>()?
        .join(", ");
    let date = text(&wrangler.compatibility_date)?;
    let directory = text(&objects.to_string_lossy())?;
    let bucket::Parts {
        services: buckets,
        workers: bucket_workers,
        extensions,
    } = bucket::parts(&wrangler.buckets, &wrangler.name, objects)?;
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = {directory}, writable = true)),
    (name = "network", network = (allow = [{network}])),{clock_service}{buckets}
  ],{extensions}
  sockets = [(name = "{SOCKET}", address = "{host}:{port}", http = (), service = "{service}")],
);
const worker :Workerd.Worker = (
  modules = [
    {modules}
  ],
  compatibilityDate = {date},
  compatibilityFlags = [{flags}],
  globalOutbound = "network",
  bindings = [
    {bindings}
  ],
  durableObjectNamespaces = [
    {namespaces}
  ],
  durableObjectStorage = (localDisk = "objects"),{engine}
);
{clock}{bucket_workers}"#
    ))
}

/// The bindings of the Worker: its objects, buckets and secrets.
fn bindings(settings: &Settings, secrets: &[&str]) -> Result<String> {
    let object = |object: &ObjectBinding| {
        let (name, class) = (text(&object.binding)?, text(&object.class)?);
        Ok(format!("(name = {name}, durableObjectNamespace = {class})"))
    };
    let secret = |name: &&str| {
        let name = text(name)?;
        Ok(format!("(name = {name}, fromEnvironment = {name})"))
    };
    let wrangler = &settings.wrangler;
    let bindings = wrangler
        .objects
        .iter()
        .map(object)
        .chain(wrangler.buckets.iter().map(bucket::binding))
        .chain(secrets.iter().map(secret))
        .collect::<Result<Vec<_>>>()?;
    Ok(bindings.join(",\n    "))
}

/// The modules, embedded from the import path.
fn embedded(modules: &[&str]) -> Result<String> {
    let module = |name: &&str| {
        let kind = if name.ends_with(".wasm") {
            "wasm"
        } else {
            "esModule"
        };
        let (name, path) = (text(name)?, text(&format!("/{name}"))?);
        Ok(format!("(name = {name}, {kind} = embed {path})"))
    };
    let modules = modules.iter().map(module).collect::<Result<Vec<_>>>()?;
    Ok(modules.join(",\n    "))
}

/// A Worker that triggers the other one's cron on request and forwards other requests.
fn clock() -> String {
    format!(
        r#"const clock :Workerd.Worker = (
  modules = [(name = "clock.js", esModule =
    "export default {{ async fetch(request, env) {{"
    "  if (new URL(request.url).pathname !== '{TICK_ROUTE}') return env.MAIN.fetch(request);"
    "  return Response.json(await env.MAIN.scheduled({{ cron: '* * * * *' }}));"
    "}} }};")],
  compatibilityDate = "2026-03-01",
  compatibilityFlags = ["service_binding_extra_handlers"],
  bindings = [(name = "MAIN", service = "main")],
);
"#
    )
}

/// Returns an object class, and whether its objects own containers.
fn namespace(worker: &str, object: &ObjectBinding, engine: Option<&Engine>) -> Result<String> {
    let container = match engine.filter(|_| object.container) {
        None => String::new(),
        Some(engine) => format!(", container = (imageName = {})", text(&engine.image)?),
    };
    Ok(format!(
        "(className = {}, uniqueKey = {}, enableSql = {}{container})",
        text(&object.class)?,
        text(&format!("{worker}-{}", object.class))?,
        object.sqlite
    ))
}

/// Returns a text literal in the configuration language.
pub(crate) fn text(value: &str) -> Result<String> {
    ensure!(
        !value.chars().any(char::is_control),
        "a control character in a name or path"
    );
    Ok(format!(
        "\"{}\"",
        value.replace('\\', "\\\\").replace('"', "\\\"")
    ))
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
