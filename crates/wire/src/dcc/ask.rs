//! The client's side: what an anonymous client asks, and what an answer says.

use super::packet::{self, Head};
use super::request::ANONYMOUS_ID;
use super::{Count, SIGNATURE_BYTES, SUM_BYTES, Sum, Targets, Totals, VERSIONS, op};

/// A request of an anonymous client about the checksums of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Which operation it is: what the answer repeats. With the same numbers it is a retransmission.
    pub numbers: [u8; 16],
    /// Each kind once, in the order of their numbers: a server drops others.
    pub sums: &'a [Sum],
}

impl Ask<'_> {
    /// Appends a query: what are the totals?
    pub fn query(&self, out: &mut Vec<u8>) {
        self.write(op::QUERY, 0, out);
    }

    /// Appends a report: so many got it.
    pub fn report(&self, targets: Targets, out: &mut Vec<u8>) {
        self.write(op::REPORT, targets.to_wire(), out);
    }

    fn write(&self, op: u8, targets: u32, out: &mut Vec<u8>) {
        let head = Head { version: *VERSIONS.end(), op, sender: ANONYMOUS_ID, numbers: self.numbers };
        let body = |out: &mut Vec<u8>| {
            out.extend_from_slice(&targets.to_be_bytes());
            for sum in self.sums {
                out.extend_from_slice(&[sum.kind as u8, SUM_BYTES as u8]);
                out.extend_from_slice(&sum.digest);
            }
        };
        packet::write(&head, out, body, |_| [0; SIGNATURE_BYTES]);
    }
}

/// What an answer says. Its words borrow from its datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DccResponse<'a> {
    /// The totals of the request's checksums, in their order.
    Totals(Vec<Totals>),
    /// It did not work, and why.
    Error(&'a str),
}

impl<'a> DccResponse<'a> {
    /// Reads a datagram; none where it is no answer to that request.
    pub fn decode(datagram: &'a [u8], to: &Ask<'_>) -> Option<Self> {
        let (packet, _) = datagram.split_last_chunk::<SIGNATURE_BYTES>()?;
        let (length, rest) = packet.split_first_chunk()?;
        let ([version, op], rest) = rest.split_first_chunk()?;
        let (_, rest) = rest.split_first_chunk::<4>()?;
        let (numbers, body) = rest.split_first_chunk::<16>()?;
        let is_whole = usize::from(u16::from_be_bytes(*length)) == datagram.len();
        if !is_whole || *version != *VERSIONS.end() || *numbers != to.numbers {
            return None;
        }
        match *op {
            op::ANSWER => totals(body, to.sums.len()).map(Self::Totals),
            op::ERROR => std::str::from_utf8(body.strip_suffix(&[0])?).ok().map(Self::Error),
            _ => None,
        }
    }
}

/// As many totals as there are checksums, no fewer and no more.
fn totals(body: &[u8], number: usize) -> Option<Vec<Totals>> {
    let (entries, rest) = body.as_chunks::<8>();
    if !rest.is_empty() || entries.len() != number {
        return None;
    }
    let read = |entry: &[u8; 8]| {
        let [current, previous] = *entry.as_chunks().0 else { return None };
        let count = |bytes| Count::from_wire(u32::from_be_bytes(bytes));
        Some(Totals { current: count(current)?, previous: count(previous)? })
    };
    entries.iter().map(read).collect()
}
