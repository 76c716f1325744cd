//! The edge on workerd before the bot as a process. Failed credentials count for the edge's client.

use ars_tests_surfaces::{DASHBOARD_TOKEN, Service};
use ars_tests_workerd::edge_worker;
use tokio::runtime::Runtime;

/// The header in which the platform states the client.
/// In front of a deployed edge it replaces a caller's own.
const CLIENT: &str = "cf-connecting-ip";

/// The bot runs natively here, with the variable that the edge gives the bot in its container.
#[test]
fn wrong_bearers_limit_the_client_of_the_edge() {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    let bot = runtime.block_on(Service::start_with("{}", &[("PEER_HEADER", CLIENT)]));
    let edge = edge_worker(&bot.url(""), None);
    let status = |bearer: &str, client: &str, forged: &[(&str, &str)]| {
        let authorization = format!("Bearer {bearer}");
        let stated = [("authorization", authorization.as_str()), (CLIENT, client)];
        edge.client
            .send("GET", "/runs", &[&stated[..], forged].concat(), b"")
            .status
    };
    for _ in 0..10 {
        assert_eq!(status("wrong", "192.0.2.1", &[]), 403);
    }
    assert_eq!(
        status(DASHBOARD_TOKEN, "192.0.2.2", &[]),
        200,
        "{}",
        edge.log()
    );
    for forged in [
        &[][..],
        &[("x-forwarded-for", "192.0.2.2")],
        &[("x-real-ip", "192.0.2.2")],
        &[("forwarded", "for=192.0.2.2")],
        &[("cf_connecting_ip", "192.0.2.2")],
        // A connection header would end at the edge, and the bot would count its socket instead.
        &[("connection", "cf-connecting-ip")],
    ] {
        assert_eq!(
            status(DASHBOARD_TOKEN, "192.0.2.1", forged),
            403,
            "{forged:?}\n{}",
            edge.log()
        );
    }
}
