//! Makes a loopback port reachable for containers. It listens on the address by which they reach
//! this machine.
//!
//! Two threads per connection, until the program ends.

use std::io::{Result, copy};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Forwards connections on `ip` to `target`; returns the port.
///
/// # Errors
/// The address cannot be listened on.
pub fn relay(ip: IpAddr, target: SocketAddr) -> Result<u16> {
    let listener = TcpListener::bind((ip, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            // A connection that cannot be passed on is closed, which its caller notices.
            drop(connect(client, target));
        }
    });
    Ok(port)
}

fn connect(client: TcpStream, target: SocketAddr) -> Result<()> {
    let server = TcpStream::connect(target)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (up, down) = ((client.try_clone()?, server.try_clone()?), (server, client));
    for (mut from, mut to) in [up, down] {
        thread::spawn(move || {
            // The other end is closed in any case.
            drop(copy(&mut from, &mut to));
            drop(to.shutdown(Shutdown::Write));
        });
    }
    Ok(())
}
