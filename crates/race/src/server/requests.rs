//! Requests, encoded from the first to the last byte before they are sent.

use std::error::Error;
use std::ops::Range;

use seenit_filter::random::SplitMix;
use seenit_ledger::verdict::{ANSWER_BYTES, Verdict};
use seenit_signature::Kind;

use super::generator::Connections;
use super::host::Host;
use crate::keys::numbered;

/// Every signature is of our own exact kind.
const KIND: Kind = Kind::Exact1;
const DIGEST_BYTES: usize = 20;
/// Checks that are encoded for a lap, then sent again and again: their signatures lie in far more lines than fit a
/// cache.
const CHECKED: u64 = 1_000_000;
/// Of those, so many requests are sent beforehand to see that the answers are right.
const VERIFIED: u64 = 1000;
/// Numbers of signatures that nobody reports.
const STRANGERS: u64 = 1 << 40;
/// One request of writes in so many takes something back, by turns as a revocation and as a withdrawal.
const BACK_ONE_IN: u64 = 20;
/// Of the reported signatures, one in so many was reported before.
const REPEAT_ONE_IN: u64 = 19;

/// What the requests of a lap are like.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    CheckJson { signatures: u64 },
    CheckBinary { signatures: u64 },
    Report { cases: u64 },
}

/// Requests one after the other.
pub(crate) struct Requests {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// New signatures up to each request, where there are any.
    new: Vec<u64>,
    signatures_each: u64,
    shape: Shape,
}

impl Requests {
    /// Those of a lap, with `loaded` signatures stored. Reports are of `new` ones as long as there are any.
    pub(crate) fn of(shape: Shape, host: &Host, loaded: u64, new: Range<u64>) -> Self {
        match shape {
            Shape::CheckJson { signatures } => checks(shape, signatures, host, loaded, json_check),
            Shape::CheckBinary { signatures } => checks(shape, signatures, host, loaded, binary_check),
            Shape::Report { cases } => reports(cases, host, loaded, new),
        }
    }

    /// Reports of the signatures with these numbers.
    pub(crate) fn load(host: &Host, numbers: Range<u64>, cases: usize) -> Self {
        let mut requests = Requests::empty(Shape::Report { cases: cases as u64 }, cases as u64);
        let numbers: Vec<u64> = numbers.collect();
        for numbers in numbers.chunks(cases) {
            requests.push(&request(host, "report", BINARY, &cases_of(numbers)));
        }
        requests
    }

    fn empty(shape: Shape, signatures_each: u64) -> Self {
        Requests { bytes: Vec::new(), ends: Vec::new(), new: Vec::new(), signatures_each, shape }
    }

    fn push(&mut self, request: &[u8]) {
        self.bytes.extend_from_slice(request);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// A request. Checks begin again after the last.
    pub(crate) fn get(&self, index: u64) -> Option<&[u8]> {
        let index = match self.shape {
            Shape::Report { .. } => index,
            _ => index % self.len(),
        } as usize;
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        Some(&self.bytes[start..*self.ends.get(index)?])
    }

    pub(crate) fn signatures_each(&self) -> u64 {
        self.signatures_each
    }

    /// New signatures in the first `sent` requests.
    pub(crate) fn new_in(&self, sent: u64) -> u64 {
        (sent as usize).checked_sub(1).and_then(|last| self.new.get(last)).copied().unwrap_or(0)
    }

    /// Half of what is checked is stored, and the server says so of the first requests; of less there is no race.
    pub(crate) fn verify(&self, connections: &mut Connections) -> Result<(), Box<dyn Error>> {
        let known = |answer: &[u8]| match self.shape {
            Shape::CheckJson { .. } => answer.windows(6).filter(|text| *text == b"\"spam\"").count(),
            Shape::CheckBinary { .. } => {
                answer.chunks(ANSWER_BYTES).filter(|one| one.first() == Some(&Verdict::Spam.code())).count()
            }
            Shape::Report { .. } => 0,
        };
        if matches!(self.shape, Shape::Report { .. }) {
            return Ok(());
        }
        let mut found = 0;
        let mut asked = 0;
        for index in 0..VERIFIED.min(self.len()) {
            let request = self.get(index).unwrap_or_default();
            found += known(&connections.ask(request)?);
            asked += self.signatures_each as usize;
        }
        // A stranger may be mistaken for a signature that is stored, once in a great while.
        let is_right = found >= asked / 2 && found - asked / 2 <= 1 + asked / 1000;
        if is_right { Ok(()) } else { Err(format!("{found} of {asked} are known, not half of them").into()) }
    }
}

const BINARY: &str = "application/vnd.seenit.v1";
const JSON: &str = "application/json";

fn request(host: &Host, verb: &str, media: &str, body: &[u8]) -> Vec<u8> {
    let token = host.token();
    let bytes = body.len();
    let head = format!(
        "POST /v1/{verb} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: {media}\r\nContent-Length: {bytes}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A report of one signature that no lap has: its answer is a receipt.
pub(crate) fn report_of_one(host: &Host) -> Vec<u8> {
    request(host, "report", BINARY, &cases_of(&[STRANGERS - 1]))
}

fn checks(
    shape: Shape,
    signatures_each: u64,
    host: &Host,
    loaded: u64,
    encode: fn(&Host, &[u64]) -> Vec<u8>,
) -> Requests {
    let mut requests = Requests::empty(shape, signatures_each);
    let mut random = SplitMix(1);
    let mut parity = 0;
    // Single checks have long heads: a tenth of them is as many bytes.
    let number = if signatures_each == 1 { CHECKED / 10 } else { CHECKED / signatures_each };
    for _ in 0..number {
        let mut one = || {
            parity ^= 1;
            if parity == 1 { random.below(loaded) } else { STRANGERS + random.next() % STRANGERS }
        };
        let numbers: Vec<u64> = (0..signatures_each).map(|_| one()).collect();
        requests.push(&encode(host, &numbers));
    }
    requests
}

fn json_check(host: &Host, numbers: &[u64]) -> Vec<u8> {
    let one = |number: &u64| {
        let digest = hex::encode(numbered::<DIGEST_BYTES>(*number));
        format!(r#"{{"kind":"{KIND}","digest":"{digest}"}}"#)
    };
    let list: Vec<String> = numbers.iter().map(one).collect();
    request(host, "check", JSON, format!(r#"{{"signatures":[{}]}}"#, list.join(",")).as_bytes())
}

fn binary_check(host: &Host, numbers: &[u64]) -> Vec<u8> {
    request(host, "check", BINARY, &numbers.iter().flat_map(|number| signature(*number)).collect::<Vec<u8>>())
}

fn reports(cases: u64, host: &Host, loaded: u64, mut new: Range<u64>) -> Requests {
    let mut requests = Requests::empty(Shape::Report { cases }, cases);
    let mut random = SplitMix(2);
    let first = new.start;
    for index in 0.. {
        let verb = match index % (2 * BACK_ONE_IN) {
            0 => "revoke",
            BACK_ONE_IN => "withdraw",
            _ => "report",
        };
        let mut one = || {
            let is_old = verb != "report" || random.below(REPEAT_ONE_IN) == 0;
            if is_old { Some(random.below(loaded)) } else { new.next() }
        };
        let numbers: Option<Vec<u64>> = (0..cases).map(|_| one()).collect();
        let Some(numbers) = numbers else { break };
        requests.push(&request(host, verb, BINARY, &cases_of(&numbers)));
        requests.new.push(new.start - first);
    }
    requests
}

fn cases_of(numbers: &[u64]) -> Vec<u8> {
    let case = |number: &u64| [1, 0].into_iter().chain(signature(*number));
    numbers.iter().flat_map(case).collect()
}

fn signature(number: u64) -> [u8; 3 + DIGEST_BYTES] {
    let mut bytes = [0; 3 + DIGEST_BYTES];
    (bytes[0], bytes[1]) = (KIND.code(), DIGEST_BYTES as u8);
    bytes[3..].copy_from_slice(&numbered::<DIGEST_BYTES>(number));
    bytes
}
