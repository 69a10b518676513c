//! Which user of this machine is at the other end of a socket on loopback, asked of the kernel (netlink, `sock_diag`).
//!
//! Netlink and not the files in /proc/net: the kernel finds one connection by both its ends without listing all of
//! them, and it reads the owner before the inode. A socket whose process has closed it belongs to root until it is
//! gone, and has no inode; read in the other order it could be taken for one of root's.
//!
//! A connection is exact. A datagram is not: it proves nothing but a port, and whoever sent it may have closed that
//! port since. So a sender counts as known only where the port is one that the kernel chose, all sockets with that
//! number belong to one user, and one of them may have sent it. docs/guide/clients.md says what is left.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// A user of this machine, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uid(pub(crate) u32);

impl Uid {
    const ROOT: Uid = Uid(0);

    /// Stands for every user that a user namespace does not know.
    const OVERFLOW: Uid = Uid(65_534);
}

/// Tells the users of this machine apart.
pub(crate) struct Owners {
    /// Whom the server runs as.
    own: Uid,
    /// Ports that the kernel gives to those who ask for none.
    chosen_ports: RangeInclusive<u16>,
}

impl Owners {
    pub(crate) fn new() -> Self {
        let own = Uid(nix::unistd::geteuid().as_raw());
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let mut ports = range.split_whitespace().map_while(|port| port.parse().ok());
        // What Linux has unless it was told otherwise.
        let least = ports.next().unwrap_or(32_768);
        let most = ports.next().unwrap_or(60_999);
        let owners = Owners { own, chosen_ports: least..=most };
        if !owners.are_told() {
            tracing::warn!(
                "the system does not say whose a socket is (netlink, sock_diag): users of this machine who have no \
                 account are all `local`, the operator, too"
            );
        }
        owners
    }

    /// Whether the kernel knows sockets of our own. A kernel without netlink, or without the modules `tcp_diag` and
    /// `udp_diag`, does not; a machine without loopback has nobody to tell apart.
    fn are_told(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            sender.connect(listener.local_addr()?)?;
            let port = listener.local_addr()?.port();
            Ok(self.of_connection(client.local_addr()?, client.peer_addr()?) == Some(self.own)
                && self.of_datagram(sender.local_addr()?, port) == Some(self.own))
        };
        ask().unwrap_or(true)
    }

    /// Whether a user is the operator: root, or whom the server runs as.
    pub(crate) fn is_operator(&self, uid: Uid) -> bool {
        uid == Uid::ROOT || (uid == self.own && uid != Uid::OVERFLOW)
    }

    /// Who has the other end of a connection.
    pub(crate) fn of_connection(&self, peer: SocketAddr, own: SocketAddr) -> Option<Uid> {
        let peer = plain(peer);
        let own = plain(own);
        let asked = Diag::open()?.ask(Asked {
            family: family(peer),
            protocol: TCP,
            local: peer,
            remote: Some(own),
        })?;
        let found = asked.into_iter().find(|socket| {
            socket.state == ESTABLISHED && (socket.local, socket.remote) == (peer, own) && socket.inode != 0
        });
        found.map(|socket| socket.uid)
    }

    /// Who sent a datagram to this port, if there is no doubt.
    pub(crate) fn of_datagram(&self, sender: SocketAddr, own_port: u16) -> Option<Uid> {
        let sender = plain(sender);
        if !self.chosen_ports.contains(&sender.port()) {
            return None;
        }
        let mut sockets = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let asked = Asked { family, protocol: UDP, local: sender, remote: None };
            sockets.extend(Diag::open()?.ask(asked)?);
        }
        let may_have_sent = |socket: &&Found| {
            let is_unconnected = socket.remote.port() == 0 && socket.local.ip().is_unspecified();
            let is_ours = socket.remote.port() == own_port && socket.remote.ip().is_loopback();
            let is_connected = socket.local == sender && is_ours;
            // One that is bound to an interface leaves its port to others on all the rest.
            let is_anywhere = socket.interface == 0;
            is_anywhere && socket.local.is_ipv4() == sender.is_ipv4() && (is_unconnected || is_connected)
        };
        let uid = sockets.iter().find(may_have_sent)?.uid;
        sockets.iter().all(|socket| socket.uid == uid && socket.inode != 0).then_some(uid)
    }
}

fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

// Numbers of linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h and netinet/in.h.
const TCP: u8 = 6;
const UDP: u8 = 17;
const ESTABLISHED: u8 = 1;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;

/// Bytes of the head of every netlink message.
const HEAD_BYTES: usize = 16;

/// Bytes of `inet_diag_req_v2` and of `inet_diag_msg`.
const REQUEST_BYTES: usize = 56;
const FOUND_BYTES: usize = 72;

/// Bytes that are read at once: the kernel fills no more than that of its own accord.
const ANSWER_BYTES: usize = 32 << 10;

/// Sockets that may share a port and still be looked at. Whoever shares one with so many is nobody's operator.
const SOCKETS_MAX: usize = 64;

/// What the kernel is asked for: one connection by both ends, or all sockets with the local port.
struct Asked {
    family: AddressFamily,
    protocol: u8,
    local: SocketAddr,
    remote: Option<SocketAddr>,
}

/// A socket of this machine.
struct Found {
    state: u8,
    local: SocketAddr,
    remote: SocketAddr,
    uid: Uid,
    /// The interface it is bound to; 0 of one that is bound to none.
    interface: u32,
    /// 0 of a socket that no process has any more.
    inode: u32,
}

/// A conversation with the kernel.
struct Diag(OwnedFd);

impl Diag {
    fn open() -> Option<Self> {
        let protocol = SockProtocol::NetlinkSockDiag;
        let opened = socket(AddressFamily::Netlink, SockType::Datagram, SockFlag::SOCK_CLOEXEC, protocol);
        opened.ok().map(Diag)
    }

    /// The sockets that were asked for; none where the kernel does not say, or not all of them.
    fn ask(&self, asked: Asked) -> Option<Vec<Found>> {
        send(self.0.as_raw_fd(), &asked.encode(), MsgFlags::empty()).ok()?;
        let mut buffer = vec![0; ANSWER_BYTES];
        let mut sockets = Vec::new();
        while sockets.len() <= SOCKETS_MAX {
            let bytes = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT).ok()?;
            let mut rest = &buffer[..bytes];
            while let Some((kind, body)) = next_message(&mut rest) {
                match kind {
                    SOCK_DIAG_BY_FAMILY => sockets.push(Found::decode(body)?),
                    NLMSG_DONE => return Some(sockets),
                    // With an error of 0 it would be an acknowledgement, which is not asked for.
                    NLMSG_ERROR => return None,
                    _ => {}
                }
            }
            if asked.remote.is_some() {
                return Some(sockets);
            }
        }
        None
    }
}

/// The kind and the body of a message, of which the rest is aligned to 4 bytes.
fn next_message<'a>(rest: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
    let message = rest.get(..length)?;
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    let body = message.get(HEAD_BYTES..)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, body))
}

impl Asked {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + REQUEST_BYTES);
        let flags = if self.remote.is_some() { NLM_F_REQUEST } else { NLM_F_REQUEST | NLM_F_DUMP };
        bytes.extend(((HEAD_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
        bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        // Sequence and port: one question a socket, and the kernel answers.
        bytes.extend([0; 8]);
        bytes.extend([self.family as u8, self.protocol, 0, 0]);
        // Of every state.
        bytes.extend(u32::MAX.to_ne_bytes());
        bytes.extend(self.local.port().to_be_bytes());
        bytes.extend(self.remote.map_or(0, |remote| remote.port()).to_be_bytes());
        bytes.extend(octets(self.remote.map(|_| self.local.ip())));
        bytes.extend(octets(self.remote.map(|remote| remote.ip())));
        // On any interface, and whatever its cookie is.
        bytes.extend([0; 4]);
        bytes.extend([0xff; 8]);
        bytes
    }
}

fn octets(ip: Option<IpAddr>) -> [u8; 16] {
    let mut octets = [0; 16];
    match ip {
        Some(IpAddr::V4(ip)) => octets[..4].copy_from_slice(&ip.octets()),
        Some(IpAddr::V6(ip)) => octets = ip.octets(),
        None => {}
    }
    octets
}

impl Found {
    fn decode(body: &[u8]) -> Option<Self> {
        let bytes: &[u8; FOUND_BYTES] = body.first_chunk()?;
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let number = |at: usize| bytes[at..].first_chunk().copied().map(u32::from_ne_bytes);
        let is_v4 = bytes[0] == AddressFamily::Inet as u8;
        let ip = |at: usize| -> Option<IpAddr> {
            let all: [u8; 16] = *bytes[at..].first_chunk()?;
            let v4: [u8; 4] = *bytes[at..].first_chunk()?;
            Some(if is_v4 { Ipv4Addr::from(v4).into() } else { Ipv6Addr::from(all).to_canonical() })
        };
        Some(Found {
            state: bytes[1],
            local: SocketAddr::new(ip(8)?, port(4)),
            remote: SocketAddr::new(ip(24)?, port(6)),
            interface: number(40)?,
            uid: Uid(number(64)?),
            inode: number(68)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Read;

    use nix::sys::socket::{setsockopt, sockopt};

    use super::*;

    fn own() -> Option<Uid> {
        Some(Uid(nix::unistd::geteuid().as_raw()))
    }

    #[test]
    fn the_owner_of_a_connection_is_known_until_it_is_closed() {
        let owners = Owners::new();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("skipped: there is no {address} here");
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
            let (mut served, peer) = listener.accept().expect("connected");
            let here = served.local_addr().expect("bound");
            assert_eq!(owners.of_connection(peer, here), own(), "{address}");
            let other = SocketAddr::new(peer.ip(), peer.port() ^ 1);
            assert_eq!(owners.of_connection(other, here), None, "nobody's");
            drop(client);
            // A socket that nobody has any more would be root's.
            assert_eq!(served.read(&mut [0; 1]).expect("the end"), 0);
            assert_eq!(owners.of_connection(peer, here), None, "{address}");
        }
    }

    #[test]
    fn a_connection_of_an_ipv6_socket_to_an_ipv4_address_is_found_too() {
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            return eprintln!("skipped: there is no IPv6 here");
        };
        let port = listener.local_addr().expect("bound").port();
        let _client = TcpStream::connect(("127.0.0.1", port)).expect("it takes IPv4, too");
        let (served, peer) = listener.accept().expect("connected");
        assert_eq!(Owners::new().of_connection(peer, served.local_addr().expect("bound")), own());
    }

    #[test]
    fn the_sender_of_a_datagram_is_known_where_nobody_else_could_be_it() {
        let owners = Owners::new();
        let sent_from = |socket: &UdpSocket| {
            let port = socket.local_addr().expect("bound").port();
            owners.of_datagram(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), 24_441)
        };
        let free = UdpSocket::bind("0.0.0.0:0").expect("a port");
        assert_eq!(sent_from(&free), own(), "nobody else can have its port");
        let connected = UdpSocket::bind("0.0.0.0:0").expect("a port");
        connected.connect("127.0.0.1:24441").expect("loopback");
        assert_eq!(sent_from(&connected), own());
        connected.connect("127.0.0.1:24442").expect("loopback");
        assert_eq!(sent_from(&connected), None, "it speaks to somebody else");
        let service = UdpSocket::bind("127.0.0.1:0").expect("a port");
        assert_eq!(sent_from(&service), None, "127.0.0.2 may have the same port");
        let port = free.local_addr().expect("bound").port();
        drop(free);
        assert_eq!(
            owners.of_datagram(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), 24_441),
            None,
            "closed"
        );
    }

    #[test]
    fn a_socket_that_is_bound_to_an_interface_is_not_taken_for_the_sender() {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        if let Err(error) = setsockopt(&socket, sockopt::BindToDevice, &OsString::from("lo")) {
            return eprintln!("skipped: sockets cannot be bound to an interface here: {error}");
        }
        let port = socket.local_addr().expect("bound").port();
        let from = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        assert_eq!(Owners::new().of_datagram(from, 24_441), None, "others may have its port elsewhere");
    }

    #[test]
    fn the_kernel_tells_whose_sockets_are() {
        assert!(Owners::new().are_told());
    }

    #[test]
    fn a_port_that_a_service_was_given_says_nothing_of_who_sent_a_datagram() {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        let port = socket.local_addr().expect("bound").port();
        let owners = Owners { chosen_ports: 1..=port - 1, ..Owners::new() };
        assert_eq!(owners.of_datagram(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), 24_441), None);
    }

    #[test]
    fn the_operator_is_root_and_whom_the_server_runs_as() {
        let of = |own: u32| Owners { own: Uid(own), ..Owners::new() };
        let is = |own: u32, uid: u32| of(own).is_operator(Uid(uid));
        assert!(is(0, 0) && is(1000, 0) && is(1000, 1000));
        assert!(!is(0, 1000) && !is(1000, 1001));
        assert!(!is(65_534, 65_534), "whoever a namespace does not know has this number");
    }
}
