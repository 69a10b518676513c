//! Datagrams in and out, many at a time: one thread for each processor, no allocation for a datagram.

use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockType, SockaddrStorage, bind, recvmmsg, sendmmsg,
    sendto, setsockopt, socket, sockopt,
};
use prometheus_client::metrics::counter::Counter;

use super::credit::Credit;
use crate::audit::Origin;
use crate::metrics::{ClientCounts, FrontEnd};
use crate::owner::{Owners, Uid};

/// Datagrams of one system call: beyond this few are saved any more, and the first waits for the last.
const BATCH: usize = 32;

/// Room for an answer, so that none of the usual ones makes its buffer grow: a sealed one of rspamd's has 136 bytes,
/// one of DCC's with every checksum 128.
const ANSWER_BYTES: usize = 256;

/// How soon a thread that waits for datagrams sees that it is to stop.
const STOP_WITHIN: Duration = Duration::from_millis(200);

/// A pause after a failed receive that is none of the usual ones.
const FAILURE_PAUSE: Duration = Duration::from_millis(50);

/// One protocol over datagrams.
pub(crate) trait Datagrams: Send + Sync + 'static {
    /// The longest datagram it takes; longer ones are nobody's.
    fn bytes_max(&self) -> usize;

    /// Writes the answer into `out`. Leaves it empty to stay silent, or where the answer is sent later.
    fn answer(&self, asked: &Asked<'_>, out: &mut Vec<u8>);
}

/// A datagram and where it came from.
pub(crate) struct Asked<'a> {
    pub(crate) datagram: &'a [u8],
    pub(crate) from: SocketAddr,
    pub(super) socket: &'a Arc<UdpSocket>,
    pub(super) counts: &'a ClientCounts,
    pub(super) is_proved: Cell<bool>,
}

impl Asked<'_> {
    /// Whoever sent it has proved to be an account: the answer may be longer than the question.
    pub(crate) fn prove(&self) {
        self.is_proved.set(true);
    }

    /// Writes the answer into `out`, unless somebody who proved nothing would get more bytes than it sent.
    pub(super) fn answer(&self, protocol: &dyn Datagrams, credit: &Credit, out: &mut Vec<u8>) {
        protocol.answer(self, out);
        if !self.is_proved.get() && !credit.allows(self.from.ip(), self.datagram.len(), out.len()) {
            out.clear();
        }
    }

    /// Which user of this machine sent it, if there is no doubt.
    pub(crate) fn owner(&self, owners: &Owners) -> Option<Uid> {
        owners.of_datagram(self.from, self.socket.local_addr().ok()?.port())
    }

    /// From where it came, for the log.
    pub(crate) fn origin(&self, front_end: FrontEnd) -> Origin {
        Origin::at(front_end, self.from.ip())
    }

    /// The way back, for an answer that must wait for something.
    pub(crate) fn way_back(&self) -> WayBack {
        let socket = Arc::clone(self.socket);
        let dropped = self.counts.dropped.clone();
        WayBack { socket, to: self.from, dropped }
    }
}

/// Where an answer is sent to later.
pub(crate) struct WayBack {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    dropped: Counter,
}

impl WayBack {
    /// Sends the answer and never waits: the ledger's writer calls this, and everybody's writes would wait with it. An
    /// answer for which the socket has no room is lost, as any datagram may be, and counted.
    pub(crate) fn send(&self, answer: &[u8]) {
        let to = SockaddrStorage::from(self.to);
        if sendto(self.socket.as_raw_fd(), answer, &to, MsgFlags::MSG_DONTWAIT).is_err() {
            self.dropped.inc();
        }
    }
}

/// A socket for each of so many threads, on the address of the first. The kernel gives all datagrams of one sender to
/// one of them, so that they are answered in the order in which they came.
pub(crate) fn by_sender(first: UdpSocket, threads: usize) -> io::Result<Vec<UdpSocket>> {
    // The first was bound without it: another process that has the port is told from our own threads.
    setsockopt(&first, sockopt::ReusePort, &true)?;
    let address = first.local_addr()?;
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let mut sockets = vec![first];
    while sockets.len() < threads {
        let socket = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        setsockopt(&socket, sockopt::ReusePort, &true)?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
        sockets.push(UdpSocket::from(socket));
    }
    Ok(sockets)
}

/// Answers datagrams until told to stop.
pub(crate) fn serve(
    socket: &Arc<UdpSocket>,
    protocol: &dyn Datagrams,
    credit: &Credit,
    counts: &ClientCounts,
    stop: &AtomicBool,
) {
    if let Err(error) = socket.set_read_timeout(Some(STOP_WITHIN)) {
        tracing::error!(%error, "a socket for datagrams cannot be used");
        return;
    }
    let mut post = Post::new(protocol.bytes_max());
    while !stop.load(Relaxed) {
        match post.receive(socket) {
            Ok(number) => {
                post.answer(number, socket, protocol, credit, counts);
                counts.requests.inc_by(number as u64);
                post.send(number, socket, counts);
            }
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => {}
            Err(error) => {
                tracing::warn!(%error, "datagrams could not be received");
                std::thread::sleep(FAILURE_PAUSE);
            }
        }
    }
}

/// One thread's buffers.
struct Post {
    /// Each way has its own: sending leaves addresses in them that a receive would write to.
    incoming: MultiHeaders<SockaddrStorage>,
    outgoing: MultiHeaders<SockaddrStorage>,
    /// One byte more than the longest datagram each, so that a longer one is told from it.
    buffers: Vec<Vec<u8>>,
    answers: Vec<Vec<u8>>,
    /// Length and sender of what was received.
    received: [(usize, Option<SocketAddr>); BATCH],
}

impl Post {
    fn new(bytes_max: usize) -> Self {
        Post {
            incoming: MultiHeaders::preallocate(BATCH, None),
            outgoing: MultiHeaders::preallocate(BATCH, None),
            buffers: vec![vec![0; bytes_max + 1]; BATCH],
            answers: (0..BATCH).map(|_| Vec::with_capacity(ANSWER_BYTES)).collect(),
            received: [(0, None); BATCH],
        }
    }

    /// Waits for a datagram, and takes along what else is there.
    fn receive(&mut self, socket: &UdpSocket) -> Result<usize, Errno> {
        let mut buffers = self.buffers.iter_mut();
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] = std::array::from_fn(|_| {
            let buffer = buffers.next().map_or(&mut [][..], Vec::as_mut_slice);
            [IoSliceMut::new(buffer)]
        });
        let messages = recvmmsg(
            socket.as_raw_fd(),
            &mut self.incoming,
            slices.iter_mut(),
            MsgFlags::MSG_WAITFORONE,
            None,
        )?;
        let mut number = 0;
        for (message, received) in messages.zip(&mut self.received) {
            *received = (message.bytes, message.address.and_then(address_of));
            number += 1;
        }
        Ok(number)
    }

    fn answer(
        &mut self,
        number: usize,
        socket: &Arc<UdpSocket>,
        protocol: &dyn Datagrams,
        credit: &Credit,
        counts: &ClientCounts,
    ) {
        let received = self.received.iter().zip(&self.buffers).zip(&mut self.answers).take(number);
        for ((&(bytes, from), buffer), answer) in received {
            answer.clear();
            let Some(from) = from.filter(|_| bytes < buffer.len()) else {
                continue;
            };
            let is_proved = Cell::new(false);
            let asked = Asked { datagram: &buffer[..bytes], from, socket, counts, is_proved };
            asked.answer(protocol, credit, answer);
        }
    }

    /// Sends the answers, and counts them.
    fn send(&mut self, number: usize, socket: &UdpSocket, counts: &ClientCounts) {
        let mut slices = [[IoSlice::new(&[])]; BATCH];
        let mut addresses: [Option<SockaddrStorage>; BATCH] = [None; BATCH];
        let mut answers = 0;
        for (answer, (_, from)) in self.answers.iter().zip(&self.received).take(number) {
            if let (false, Some(from)) = (answer.is_empty(), from) {
                slices[answers] = [IoSlice::new(answer)];
                addresses[answers] = Some(SockaddrStorage::from(*from));
                answers += 1;
            }
        }
        let mut sent = 0;
        while sent < answers {
            let slices = &slices[sent..answers];
            let addresses = &addresses[sent..answers];
            let flags = MsgFlags::MSG_DONTWAIT;
            let messages =
                sendmmsg(socket.as_raw_fd(), &mut self.outgoing, slices.iter(), addresses, [], flags);
            // Whom nothing can be sent to gets nothing, and the others their answers.
            sent += match messages {
                Ok(messages) => messages.count().max(1),
                Err(_) => {
                    counts.dropped.inc();
                    1
                }
            };
        }
        counts.answers.inc_by(answers as u64);
    }
}

fn address_of(address: SockaddrStorage) -> Option<SocketAddr> {
    match address.as_sockaddr_in() {
        Some(v4) => Some(SocketAddrV4::from(*v4).into()),
        None => address.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_datagrams_of_one_sender_arrive_at_one_socket_and_nobody_else_gets_the_port() {
        let first = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = first.local_addr().expect("an address");
        let sockets = by_sender(first, 4).expect("the same port");
        assert!(UdpSocket::bind(address).is_err(), "taken");
        let senders: Vec<UdpSocket> =
            (0..16).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port")).collect();
        for sender in &senders {
            for number in 0..4_u8 {
                sender.send_to(&[number], address).expect("sent");
            }
        }
        let mut found = 0;
        for socket in &sockets {
            socket.set_nonblocking(true).expect("set");
            let mut last = std::collections::HashMap::new();
            let mut place = [0; 8];
            while let Ok((_, from)) = socket.recv_from(&mut place) {
                let before = last.insert(from, place[0]);
                assert_eq!(before.map_or(0, |before| before + 1), place[0], "in their order, and all here");
                found += 1;
            }
        }
        assert_eq!(found, 16 * 4);
    }
}
