//! The ready file: a JSON object, there when everything answers and not before.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::code_host::Place;
use super::dashboard::Dashboard;
use super::data_dir::write_private;
use super::options::Options;
use super::residents::Fleet;
use super::secrets::Secrets;
use super::slack::Workspace;

/// Removes the file, at the start and at the end, so that no reader finds an old file.
pub fn withdraw(options: &Options) -> Result<()> {
    let Some(path) = &options.ready_file else {
        return Ok(());
    };
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Where everything answers.
#[derive(Default)]
pub struct Addresses {
    /// The bot: in a container, the edge's.
    pub bot: String,
    /// The state Worker, if there is any.
    pub state: Option<String>,
    /// The edge Worker, if there is any.
    pub edge: Option<String>,
    /// The rehearsal host, if there is any.
    pub code_host: Option<Place>,
    /// The resident side, if there is any.
    pub residents: Option<Fleet>,
    /// The rehearsal workspace, if there is any.
    pub slack: Option<Workspace>,
}

/// Writes the ready file.
pub fn announce(
    options: &Options,
    addresses: &Addresses,
    dashboard: &Dashboard,
    secrets: &Secrets,
) -> Result<()> {
    let Some(path) = &options.ready_file else {
        return Ok(());
    };
    write_private(path, &content(addresses, dashboard, secrets)?.to_string())
}

fn content(addresses: &Addresses, dashboard: &Dashboard, secrets: &Secrets) -> Result<Value> {
    let mut ready = json!({"bot": {"url": addresses.bot, "dashboard": dashboard}});
    if let Some(url) = &addresses.state {
        ready["state"] = json!({"url": url, "token": secrets.state});
    }
    if let Some(url) = &addresses.edge {
        ready["edge"] = json!({"url": url});
    }
    if let Some(place) = &addresses.code_host {
        ready["codeHost"] = place.ready();
    }
    if let Some(fleet) = &addresses.residents {
        ready["resident"] = fleet.ready()?;
    }
    if let Some(workspace) = &addresses.slack {
        ready["slack"] = serde_json::to_value(workspace)?;
    }
    ready["tokens"] = serde_json::to_value(&secrets.tokens)?;
    Ok(ready)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::secrets::ResidentTokens;

    use super::*;

    #[test]
    fn the_file_says_where_and_with_what() {
        let secrets = Secrets {
            state: "s".into(),
            dashboard: "d".into(),
            residents: ResidentTokens::default(),
            ingress: "{}".into(),
            tokens: BTreeMap::new(),
        };
        let addresses = Addresses {
            bot: "http://b".into(),
            ..Addresses::default()
        };
        let pages = Dashboard {
            url: "http://b/runs".into(),
            mode: "none".into(),
            token: None,
        };
        let embedded = content(&addresses, &pages, &secrets).unwrap();
        let dashboard = json!({"url": "http://b/runs", "mode": "none", "token": null});
        assert_eq!(
            embedded,
            json!({"bot": {"url": "http://b", "dashboard": dashboard}, "tokens": {}})
        );
        let place = Place {
            url: "http://c".into(),
            root: "/d/code-host".into(),
        };
        let whole = Addresses {
            state: Some("http://w".into()),
            edge: Some("http://e".into()),
            code_host: Some(place),
            slack: Some(Workspace {
                url: "http://s/api".into(),
                page: "http://s/#k".into(),
            }),
            ..addresses
        };
        let whole = content(&whole, &pages, &secrets).unwrap();
        assert_eq!(whole["state"], json!({"url": "http://w", "token": "s"}));
        assert_eq!(whole["edge"], json!({"url": "http://e"}));
        assert_eq!(
            whole["codeHost"],
            json!({"git": "http://c", "root": "/d/code-host"})
        );
        assert_eq!(
            whole["slack"],
            json!({"url": "http://s/api", "page": "http://s/#k"})
        );
    }
}
