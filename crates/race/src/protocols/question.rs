//! What is asked of a server, byte by byte, and what the right answer is.
//!
//! Every question is made of a number, and has a tag that its answer repeats.

use crate::keys::numbered;

/// Tags: five digits, so that every datagram of Pyzor is as long as any other, and within what Pyzor takes.
pub(crate) const TAGS: std::ops::Range<u16> = 10_000..60_000;
/// The checksums of one message that DCC counts.
pub(crate) const SUMS: u64 = 3;
/// The flag of spam: rspamd's stock configuration has it, and so has ours.
pub(crate) const FLAG: u8 = 1;

const SHINGLES: usize = 32;
/// One slot of so many has another shingle in what resembles a message: 28 of 32 are kept.
const CHANGED_ONE_IN: u64 = 8;
/// What a text is answered that has so many of the stored shingles.
const NEAR: f32 = 1.0 - 1.0 / CHANGED_ONE_IN as f32;
/// Numbers of messages that are not stored.
const STRANGERS: u64 = 1 << 40;
/// Most messages have a few recipients; one in ten is bulk, with up to a thousand.
const RECIPIENTS_FEW: u64 = 5;
const BULK_ONE_IN: u64 = 10;
const RECIPIENTS_BULK: std::ops::Range<u64> = 20..1000;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// A stored digest, as an anonymous `pyzor check` sends it.
    PyzorCheck,
    /// The three checksums of a stored message, from an anonymous client.
    DccQuery,
    /// A stored message: its digest and its shingles.
    FuzzyCheck,
    /// An unknown digest, and 28 of the 32 shingles of a stored message.
    FuzzyNear,
    /// The addition of a message.
    FuzzyAdd,
}

impl Question {
    /// Appends the datagram.
    pub(crate) fn write(self, number: u64, tag: u16, out: &mut Vec<u8>) {
        match self {
            Question::PyzorCheck => pyzor(number, tag, out),
            Question::DccQuery => dcc(number, tag, out),
            Question::FuzzyCheck => fuzzy([4, 0], number, &shingles(number), tag, out),
            Question::FuzzyNear => {
                fuzzy([4, 0], STRANGERS + number, &shingles_like(number), tag, out);
            }
            Question::FuzzyAdd => fuzzy([4, 1], number, &shingles(number), tag, out),
        }
    }

    /// The tag of the question that an answer is to.
    pub(crate) fn tag_of(self, answer: &[u8]) -> Option<u16> {
        match self {
            Question::PyzorCheck => {
                let digits = answer.strip_prefix(PYZOR_FOUND)?.get(..5)?;
                std::str::from_utf8(digits).ok()?.parse().ok()
            }
            // In the third of the four numbers that an answer repeats.
            Question::DccQuery => answer.get(16..18)?.try_into().ok().map(u16::from_le_bytes),
            _ => answer.get(8..10)?.try_into().ok().map(u16::from_le_bytes),
        }
    }

    /// Whether this is what somebody says who has all that was stored, and counts it as it was reported.
    pub(crate) fn is_right(self, number: u64, answer: &[u8]) -> bool {
        match self {
            Question::PyzorCheck => is_right_pyzor(answer),
            Question::DccQuery => is_right_dcc(number, answer),
            Question::FuzzyCheck => is_hit(answer, 1.0..=1.0),
            // Accidents of a filter may make it resemble a bit more.
            Question::FuzzyNear => is_hit(answer, NEAR..=1.0),
            Question::FuzzyAdd => word(answer, 12).map(f32::from_bits) == Some(1.0),
        }
    }
}

/// How an answer to a check begins, before the number of the thread.
const PYZOR_FOUND: &[u8] = b"Code: 200\nDiag: OK\nPV: 2.1\nThread: ";

/// The digest of Pyzor.
pub(crate) fn pyzor_digest(number: u64) -> [u8; 20] {
    numbered(number)
}

fn pyzor(number: u64, tag: u16, out: &mut Vec<u8>) {
    let mut digest = [0; 40];
    // The buffer has two digits for each byte.
    let _ = hex::encode_to_slice(pyzor_digest(number), &mut digest);
    out.extend_from_slice(b"Op: check\nOp-Digest: ");
    out.extend_from_slice(&digest);
    out.extend_from_slice(b"\nThread: ");
    out.extend([10_000, 1000, 100, 10, 1].map(|place| b'0' + (tag / place % 10) as u8));
    // Nobody checks the time and the signature of the anonymous user.
    out.extend_from_slice(b"\nPV: 2.1\nUser: anonymous\nTime: 1794725581\nSig: ");
    out.extend_from_slice(b"3efc6134c8e962379c33471999fc393afa060b9e\n\n");
}

/// Reported once, and by one in a million more often: two signatures may share a tally of ours.
fn is_right_pyzor(answer: &[u8]) -> bool {
    let counts = answer.get(PYZOR_FOUND.len() + 5..).and_then(|rest| rest.strip_prefix(b"\nCount: "));
    let reports = counts.and_then(|counts| counts.strip_suffix(b"\nWL-Count: 0\n\n"));
    reports.is_some_and(|reports| matches!(reports, [b'1'..=b'9']))
}

/// One checksum of a message of DCC; they are numbered one after the other.
pub(crate) fn dcc_digest(number: u64) -> [u8; 16] {
    numbered(number)
}

/// Recipients of what has this checksum.
pub(crate) fn dcc_recipients(number: u64) -> u64 {
    if number.is_multiple_of(BULK_ONE_IN) {
        let width = RECIPIENTS_BULK.end - RECIPIENTS_BULK.start;
        RECIPIENTS_BULK.start + number / BULK_ONE_IN % width
    } else {
        1 + number % RECIPIENTS_FEW
    }
}

fn dcc(number: u64, tag: u16, out: &mut Vec<u8>) {
    const BYTES: u8 = 24 + 4 + SUMS as u8 * 18 + 16;
    // Length, version 12, a query, the anonymous client; host, process, number of the operation, transmission.
    out.extend_from_slice(&[0, BYTES, 12, 3, 0, 0, 0, 1]);
    out.extend_from_slice(&[7, 0, 0, 0, 7, 0, 0, 0]);
    out.extend_from_slice(&u32::from(tag).to_le_bytes());
    out.extend_from_slice(&[1, 0, 0, 0]);
    // No targets.
    out.extend_from_slice(&[0; 4]);
    for (sum, kind) in (SUMS * number..).zip(7..7 + SUMS as u8) {
        out.extend_from_slice(&[kind, 18]);
        out.extend_from_slice(&dcc_digest(sum));
    }
    out.extend_from_slice(&[0; 16]);
}

/// Two counts for each checksum. A filter may say more than was counted, never less.
fn is_right_dcc(number: u64, answer: &[u8]) -> bool {
    let is_answer = answer.len() == 24 + 8 * SUMS as usize + 16 && answer[3] == 4;
    let counts = answer.get(24..).unwrap_or_default().as_chunks::<8>().0;
    is_answer
        && (SUMS * number..).zip(counts).take(SUMS as usize).all(|(sum, counts)| {
            let [current, previous] = [0, 4].map(|at| word(counts, at).map(u32::swap_bytes));
            let is_number = |count: u32| u64::from(count) >= dcc_recipients(sum) && count < 1 << 20;
            current == previous && current.is_some_and(is_number)
        })
}

/// The digest of a message for rspamd.
pub(crate) fn fuzzy_digest(number: u64) -> [u8; 64] {
    numbered(number)
}

/// Its shingles.
pub(crate) fn shingles(number: u64) -> [u8; 8 * SHINGLES] {
    numbered(!number)
}

/// Those of another message that resembles it.
fn shingles_like(number: u64) -> [u8; 8 * SHINGLES] {
    let (mut shingles, other) = (shingles(number), shingles(STRANGERS + number));
    let slots = shingles.as_chunks_mut::<8>().0.iter_mut().zip(other.as_chunks::<8>().0);
    for ((slot, other), place) in slots.zip(number..) {
        if place.is_multiple_of(CHANGED_ONE_IN) {
            *slot = *other;
        }
    }
    shingles
}

fn fuzzy([version, action]: [u8; 2], digest: u64, shingles: &[u8], tag: u16, out: &mut Vec<u8>) {
    let is_add = action == 1;
    let flag = if is_add { FLAG } else { 0 };
    out.extend_from_slice(&[version, action, SHINGLES as u8, flag]);
    out.extend_from_slice(&u32::from(is_add).to_le_bytes());
    out.extend_from_slice(&u32::from(tag).to_le_bytes());
    out.extend_from_slice(&fuzzy_digest(digest));
    out.extend_from_slice(shingles);
}

/// A hit of the right list, with a value, and that probability.
fn is_hit(answer: &[u8], probability: std::ops::RangeInclusive<f32>) -> bool {
    let found = word(answer, 12).map(f32::from_bits);
    answer.len() == 96
        && word(answer, 0).is_some_and(|value| value.cast_signed() > 0)
        && word(answer, 4) == Some(FLAG.into())
        && found.is_some_and(|found| probability.contains(&found))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use seenit_wire::dcc::{self, Body};
    use seenit_wire::fuzzy::{Action, Packet, Reply};
    use seenit_wire::pyzor::{Counts, Op, PyzorAnswer};

    use super::*;

    fn datagram(question: Question, number: u64, tag: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        question.write(number, tag, &mut bytes);
        bytes
    }

    #[test]
    fn a_pyzor_check_is_one_and_only_its_stored_answer_is_right() {
        let bytes = datagram(Question::PyzorCheck, 5, 12_345);
        let request = seenit_wire::pyzor::Request::decode(&bytes).expect("a request");
        assert_eq!((request.op, request.thread, request.user), (Op::Check, 12_345, None));
        assert_eq!(request.digests().collect::<Vec<_>>(), [pyzor_digest(5)]);
        let answer = |reports| {
            let mut out = Vec::new();
            PyzorAnswer::Counts(Counts { reports, whitelistings: 0 }).write(12_345, &mut out);
            out
        };
        assert_eq!(Question::PyzorCheck.tag_of(&answer(1)), Some(12_345));
        assert!(Question::PyzorCheck.is_right(5, &answer(1)));
        assert!(Question::PyzorCheck.is_right(5, &answer(2)));
        assert!(!Question::PyzorCheck.is_right(5, &answer(0)));
        assert!(!Question::PyzorCheck.is_right(5, &answer(10)));
    }

    #[test]
    fn a_fuzzy_question_is_one_and_a_near_one_keeps_28_slots() {
        let command = |question| match Packet::decode(&datagram(question, 9, 54_321)) {
            Ok(Packet::Plain(command)) => command,
            other => panic!("{other:?}"),
        };
        let added = command(Question::FuzzyAdd);
        let near = command(Question::FuzzyNear);
        assert_eq!((added.action, added.flag, added.value, added.tag), (Action::Write, FLAG, 1, 54_321));
        assert_eq!(near.action, Action::Check);
        assert_ne!(added.digest, near.digest);
        let slots = added.shingles.expect("shingles").into_iter().zip(near.shingles.expect("shingles"));
        assert_eq!(slots.filter(|(stored, asked)| stored == asked).count(), 28);
        let reply = |probability| {
            let mut out = Vec::new();
            let reply = Reply { value: 1, flag: FLAG.into(), probability, ..Reply::miss(&near) };
            reply.encode(near.form, &mut out);
            out
        };
        assert_eq!(Question::FuzzyNear.tag_of(&reply(0.875)), Some(54_321));
        assert!(Question::FuzzyNear.is_right(9, &reply(0.875)));
        assert!(!Question::FuzzyNear.is_right(9, &reply(0.84375)));
        assert!(!Question::FuzzyCheck.is_right(9, &reply(0.875)));
    }

    #[test]
    fn a_dcc_query_is_one_and_its_counts_are_compared() {
        let bytes = datagram(Question::DccQuery, 7, 23_456);
        let request = dcc::Request::decode(&bytes).expect("a request");
        let Body::Query(sums) = request.body else { panic!("{request:?}") };
        assert_eq!(sums.iter().map(|sum| sum.digest).collect::<Vec<_>>(), [21, 22, 23].map(dcc_digest));
        let answer = |less: u64| {
            let totals = [21, 22, 23].map(|sum| {
                let count = dcc::Count::Number((dcc_recipients(sum) - less) as u32);
                dcc::Totals::unchanged(count)
            });
            let server = dcc::ServerId::new(1000).expect("a number");
            let mut out = Vec::new();
            dcc::Reply { server, to: &request.header, password: None }.totals(&totals, &mut out);
            out
        };
        assert_eq!(Question::DccQuery.tag_of(&answer(0)), Some(23_456));
        assert!(Question::DccQuery.is_right(7, &answer(0)));
        assert!(!Question::DccQuery.is_right(7, &answer(1)));
    }
}
