//! `cargo xtask image`: builds and measures the bot's image on a real engine.
//!
//! With `--resident` it builds and checks the resident image. Not here: what the images contain
//! (containers/bot/Dockerfile, containers/resident/Dockerfile) and the engine (`ars_engine`).

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ars_engine::{
    Engine, Image, Run, bot_image, full_resident_image, image_context, resident_context,
};
use clap::Args;

use crate::suites;
use crate::terminal::Step;
use crate::up::http;

/// How often a start is measured: the first one finds nothing in the machine's caches.
const STARTS: usize = 5;
/// Maximum time of a process to its first answer, which delays a run that waits for a new container.
const START_AIM: Duration = Duration::from_millis(100);
/// Longest wait for a first answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How often a starting bot is asked.
const LOOK: Duration = Duration::from_millis(1);

/// Options of `cargo xtask image`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only build the bot and write the image's context, for a deployment
    #[arg(long)]
    pub context: bool,
    /// The image of residents instead, with a suite of each toolchain
    #[arg(long)]
    pub resident: bool,
}

/// Builds the image, starts it a few times, and prints its size and the time to its first answer.
/// Fails above the limit.
pub fn run(options: &Options) -> Result<()> {
    if options.context {
        let step = Step::begin("context of the image");
        let write = if options.resident {
            resident_context
        } else {
            image_context
        };
        let context = write(&|line| step.update(line))?;
        step.done(&context.display().to_string());
        return Ok(());
    }
    let engine = engine()?;
    if options.resident {
        return check_resident(&engine);
    }
    let image = build(&engine)?;
    let mut starts = (0..STARTS)
        .map(|_| start(&engine, &image))
        .collect::<Result<Vec<_>>>()?;
    starts.sort();
    let (engines, own) = starts[STARTS / 2];
    println!("image    {}", image.name);
    println!(
        "size     {:.1} MB, the binary {:.1} MB of it",
        megabytes(image.bytes),
        megabytes(image.binary_bytes)
    );
    println!(
        "start    answers {} ms after its process began (the engine takes {} ms to begin it)",
        own.as_millis(),
        engines.as_millis()
    );
    is_soon_enough(own)
}

/// Builds the whole image of residents and runs a suite of each toolchain in it.
fn check_resident(engine: &Engine) -> Result<()> {
    let step = Step::begin("whole image of residents");
    let image = full_resident_image(engine, &|line| step.update(line))?;
    step.done(&format!(
        "{} ({:.1} MB)",
        image.name,
        megabytes(image.bytes)
    ));
    let step = Step::begin("suites in it");
    let passed = suites::run(engine, &image, &|line| step.update(line))?;
    step.done(&passed);
    Ok(())
}

/// Fails if the bot starts too slowly. No test does this, because a busy machine would fail it.
fn is_soon_enough(own: Duration) -> Result<()> {
    ensure!(
        own <= START_AIM,
        "the bot answers {} ms after its process began, {} ms is the most (the median of {STARTS} starts)",
        own.as_millis(),
        START_AIM.as_millis()
    );
    Ok(())
}

/// Sets the engine up in view.
pub fn engine() -> Result<Engine> {
    let step = Step::begin("container engine");
    let engine = Engine::ensure(&|line| step.update(line))?;
    step.done("answers");
    Ok(engine)
}

/// Builds the bot's image in view.
pub fn build(engine: &Engine) -> Result<Image> {
    let step = Step::begin("image of the bot");
    let image = bot_image(engine, &|line| step.update(line))?;
    step.done(&format!("{:.1} MB", megabytes(image.bytes)));
    Ok(image)
}

/// The engine's time to start the process, and the process's time to its first answer.
fn start(engine: &Engine, image: &Image) -> Result<(Duration, Duration)> {
    let called = Instant::now();
    let (id, port) = engine.run(
        image,
        &Run {
            read_only: true,
            ..Run::default()
        },
    )?;
    let began = called.elapsed();
    let address = format!("http://127.0.0.1:{port}");
    let answered = loop {
        // A port without a listener is refused at once.
        if TcpStream::connect(("127.0.0.1", port)).is_ok() && http::is_healthy(&address) {
            break called.elapsed() - began;
        }
        if called.elapsed() > START_LIMIT {
            let log = engine.logs(&id)?;
            engine.remove(&id)?;
            ensure!(
                false,
                "the bot does not answer in its container; its log:\n{log}"
            );
        }
        thread::sleep(LOOK);
    };
    engine.remove(&id)?;
    Ok((began, answered))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_fails() {
        assert!(is_soon_enough(START_AIM).is_ok());
        let slow = is_soon_enough(START_AIM * 2).unwrap_err().to_string();
        assert!(
            slow.contains("200 ms") && slow.contains("100 ms is the most"),
            "{slow}"
        );
    }
}
