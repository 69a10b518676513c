//! Ports for programs that take none of the system's choice. Tests of other crates use this file, too, so it uses
//! nothing of this one.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The first of them, and how many there are. No protocol that is served here has its usual port among them.
const FIRST: u16 = 12_000;
const PORTS: u16 = 12_000;

/// Ports that nobody has now. The system gives none of them to whoever asks for any, so that they are free until the
/// program is there, and no port is given twice by one process.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let ports = u32::from(first_of_the_system().saturating_sub(FIRST).clamp(1000, PORTS));
    // Many tests run at a time: each begins at a place of its own.
    let begin = std::process::id().wrapping_mul(37);
    let port = |_| FIRST + (begin.wrapping_add(GIVEN.fetch_add(1, Relaxed)) % ports) as u16;
    let found: Vec<u16> = (0..ports).map(port).filter(|port| is_free(*port)).take(count).collect();
    assert_eq!(found.len(), count, "no port is free");
    found
}

/// The first of the ports that the system gives to whoever asks for any.
fn first_of_the_system() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(u16::MAX)
}

fn is_free(port: u16) -> bool {
    let address = (Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
}
