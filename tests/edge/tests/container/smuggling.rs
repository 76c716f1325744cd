//! No spelling of a request makes the bot accept a subject that the edge has not authenticated.

use ars_raw_http::statuses;
use ars_testkit::Reply;
use ars_tests_edge::{World, attempts, send};
use ars_wire::admin::{AUTHORIZE_ROUTE, SUBJECT_HEADER};

/// Who may restart the bot: named by the edge, the bot grants it without any bearer.
const OPERATOR: &str = "ann";

#[test]
fn subject_cannot_be_smuggled() {
    let (world, _) = World::start(|_| Reply::text("Nobody asked."));
    let named = [(SUBJECT_HEADER, OPERATOR)];
    let granted = world.direct().send("POST", AUTHORIZE_ROUTE, &named, b"");
    assert_eq!(
        (granted.status, &granted.body["subject"]),
        (200, &OPERATOR.into()),
        "past the edge it is taken"
    );

    let attempts = attempts(OPERATOR);
    let mut refused = 0;
    for attempt in &attempts {
        let text = send(world.address(), &attempt.bytes).read_to_close().unwrap();
        let statuses = statuses(&text);
        // The runtime itself answers some with 500, before any Worker is asked.
        assert!(statuses.iter().all(|status| (400..600).contains(status)), "{}: {}", attempt.name, text);
        assert!(!text.contains("\"subject\""), "{}: {}", attempt.name, text);
        refused += usize::from(statuses.contains(&401));
    }
    assert!(refused > attempts.len() / 2, "only {refused} reached the bot, so little was shown");
    assert_eq!(world.healthy("the bot is up", |_| true)["draining"], false);
}
