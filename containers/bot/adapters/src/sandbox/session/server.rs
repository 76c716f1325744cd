//! A session's first program: starts commands in turn, and kills everything that each left.
//!
//! It is the parent of every orphaned process in the sandbox: as a namespace's first process, or
//! because it asked the kernel for them. So it knows when nothing is left. Its standard input is
//! the bot's socket; it ends when that closes.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    io,
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{fs::PermissionsExt as _, net::UnixStream, process::CommandExt as _},
    },
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group,
    set_child_subreaper, set_dumpable_behavior, wait,
};
use seccompiler::BpfProgram;

use super::{
    frames::{Answer, Frame, Order, Wait, command_of, receive, send},
    options::{NONE, Signals},
};
use crate::{
    egress::{PORT, limit_processes},
    sandbox::calls::{apply_compiled, filter_of_others},
};

/// A signal's exit code is this plus the signal number, as in shells.
const SIGNAL_BASE: i32 = 128;
/// Time after which the remaining processes are killed again. Any may have started another
/// meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(5);

/// Permissions for a folder that all users share.
const SHARED: u32 = 0o1777;

/// An event that the server handles.
enum Event {
    /// The bot asked for something; `None` if it is gone.
    Asked(Option<Frame<Order>>),
    /// A process in the sandbox has ended.
    Ended(Pid, WaitStatus),
    /// No process is left in the sandbox.
    Alone,
}

struct Server {
    bot: UnixStream,
    signals: Signals,
    /// The filter that refuses changes to other processes.
    others: BpfProgram,
    memory: Option<OsString>,
    events: Receiver<Event>,
    /// Told after each start, so that the new process is waited for.
    starts: Sender<()>,
    command: Option<Pid>,
    is_alone: bool,
}

/// Serves commands until the bot is gone. The words are those of `Options`.
///
/// # Errors
/// The sandbox lacks something that its commands need.
pub fn serve(words: &[OsString]) -> io::Result<()> {
    let incomplete = || io::Error::other("the options of a session are not complete");
    let [processes, listener, signals, memory, _place] = words else {
        return Err(incomplete());
    };
    let signals = Signals::parse(signals).ok_or_else(incomplete)?;
    // Commands are processes with the same user.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if processes != NONE {
        limit_processes(processes).map_err(io::Error::other)?;
    }
    set_child_subreaper(Some(getpid()))?;
    let bot = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let listener = match listener == NONE {
        true => None,
        false => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?),
    };
    let descriptors: Vec<_> = listener.iter().map(|listener| listener.as_fd()).collect();
    send(&bot, Answer::Ready, &[], &descriptors)?;
    drop(listener);
    let (sender, events) = mpsc::channel();
    let (starts, started) = mpsc::channel();
    let (asking, asked) = (bot.try_clone()?, sender.clone());
    thread::Builder::new()
        .name("listens".into())
        .spawn(move || listen(&asking, &asked))?;
    thread::Builder::new()
        .name("reaps".into())
        .spawn(move || reap(&started, &sender))?;
    let memory = Some(memory).filter(|memory| *memory != NONE).cloned();
    let server = Server {
        bot,
        signals,
        others: filter_of_others()?,
        memory,
        events,
        starts,
        command: None,
        is_alone: true,
    };
    server.run()
}

fn listen(bot: &UnixStream, events: &Sender<Event>) {
    loop {
        let asked = receive(bot, Wait::Blocking).unwrap_or_default();
        let is_over = asked.is_none();
        if events.send(Event::Asked(asked)).is_err() || is_over {
            return;
        }
    }
}

/// Waits until processes end, from each start until there is no process.
fn reap(starts: &Receiver<()>, events: &Sender<Event>) {
    while starts.recv().is_ok() {
        let event = loop {
            match wait(WaitOptions::empty()) {
                // A traced process that stops is reported, too.
                Ok(Some((process, status))) if status.exited() || status.signaled() => {
                    if events.send(Event::Ended(process, status)).is_err() {
                        return;
                    }
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break Event::Alone,
            }
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

impl Server {
    fn run(mut self) -> io::Result<()> {
        while let Ok(event) = self.events.recv() {
            match event {
                Event::Asked(None) => break,
                Event::Asked(Some(Frame {
                    kind: Order::Start,
                    body,
                    descriptors,
                })) => match self.start(&body, descriptors) {
                    Ok(()) => {}
                    Err(error) => {
                        send(&self.bot, Answer::Failed, error.to_string().as_bytes(), &[])?;
                    }
                },
                Event::Asked(Some(Frame {
                    kind: Order::Kill, ..
                })) => {
                    if !self.kill() {
                        break;
                    }
                    // Without an empty folder this session ends, and the next command gets another.
                    self.memory
                        .as_ref()
                        .map_or(Ok(()), |folder| empty(folder.as_ref()))?;
                    send(&self.bot, Answer::Killed, &[], &[])?;
                }
                Event::Ended(process, status) => self.note_end(process, status)?,
                Event::Alone => self.is_alone = true,
            }
        }
        self.kill();
        Ok(())
    }

    fn start(&mut self, body: &[u8], descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let descriptors = <[OwnedFd; 2]>::try_from(descriptors);
        let (Some(mut command), Ok([output, errors]), true) =
            (command_of(body), descriptors, self.is_alone)
        else {
            return Err(io::Error::other(
                "the order is not complete, or another command is there",
            ));
        };
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let process = started(command, self.signals, &self.others)?;
        (self.command, self.is_alone) = (Some(process), false);
        // The thread lives as long as this thread.
        let _ = self.starts.send(());
        Ok(())
    }

    fn note_end(&mut self, process: Pid, status: WaitStatus) -> io::Result<()> {
        if self.command != Some(process) {
            return Ok(());
        }
        self.command = None;
        let of_signal = || {
            status
                .terminating_signal()
                .map(|signal| SIGNAL_BASE + signal)
        };
        let code = status
            .exit_status()
            .or_else(of_signal)
            .unwrap_or(SIGNAL_BASE);
        send(&self.bot, Answer::Exited, code.to_string().as_bytes(), &[])
    }

    /// Kills every process in the sandbox except this process. Returns whether the bot is still
    /// there.
    fn kill(&mut self) -> bool {
        self.command = None;
        while !self.is_alone {
            // To the kernel, init's group means every process that this process may signal. The
            // sandbox allows only its own.
            let _ = kill_process_group(Pid::INIT, Signal::KILL);
            match self.events.recv_timeout(KILL_AGAIN) {
                Ok(Event::Alone) => self.is_alone = true,
                Ok(Event::Asked(None)) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Event::Asked(Some(_)) | Event::Ended(..)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        true
    }
}

/// Empties a folder, whatever the rights are that a command left in it.
fn empty(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(SHARED))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            empty(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Starts a command, which can neither signal this program nor change its limits.
fn started(mut command: Command, signals: Signals, others: &BpfProgram) -> io::Result<Pid> {
    // The thread drops the rights, and the child inherits that.
    let starting = || {
        signals.limit()?;
        apply_compiled(others)?;
        command.spawn()
    };
    let child = thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, starting)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("its thread broke off")))
    })?;
    Ok(Pid::from_child(&child))
}
