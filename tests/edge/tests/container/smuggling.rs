//! However a request is written, the bot takes nobody for somebody whom the edge has authenticated.

use ars_testkit::Reply;
use ars_tests_edge::{Wire, World, attempts};
use ars_wire::admin::{AUTHORIZE_ROUTE, SUBJECT_HEADER};

/// Who may restart the bot: named by the edge, the bot grants it without any bearer.
const OPERATOR: &str = "ann";

#[test]
fn no_spelling_of_a_request_makes_the_bot_take_a_stranger_for_an_operator() {
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
        let mut wire = Wire::to(world.address());
        wire.send(&attempt.bytes);
        let said = wire.hear_out();
        let statuses = said.statuses();
        // The runtime itself answers some with 500, before any Worker is asked.
        assert!(statuses.iter().all(|status| (400..600).contains(status)), "{}: {}", attempt.name, said.text);
        assert!(!said.text.contains("\"subject\""), "{}: {}", attempt.name, said.text);
        refused += usize::from(statuses.contains(&401));
    }
    assert!(refused > attempts.len() / 2, "only {refused} reached the bot, so little was shown");
    assert_eq!(world.healthy("the bot is up", |_| true)["draining"], false);
}
