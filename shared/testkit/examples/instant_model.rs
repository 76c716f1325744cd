//! A model that answers at once, as a process: `cargo xtask bench` measures the bot against it.
//!
//! `instant_model TURNS` prints its base URL, then a line as each request arrives, until it is killed.
#![expect(clippy::expect_used, reason = "a test tool that cannot go on fails")]

use ars_testkit::FakeAnthropic;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let turns =
        std::env::args().nth(1).and_then(|turns| turns.parse().ok()).expect("the number of tool turns");
    let model = FakeAnthropic::instant(turns).await;
    println!("{}", model.url());
    for count in 1.. {
        model.wait_for_requests(count).await;
        println!("{count}");
    }
}
