//! All signatures of a message.

use crate::kind::Kind;
use crate::message::Message;
use crate::razor::{self, Ep4};
use crate::signature::{Digest, Signature, information_bits};
use crate::words::Words;
use crate::{dcc, own, pyzor, rspamd, url};

/// Every signature of a message, kind by kind.
///
/// DCC's sums are made of other pieces of the message than ours, but say no more than its words do: below the floor of
/// `exact1` they are withheld too, and their information is that of the words. The other clients' kinds name what they
/// rest on themselves: `pyzor` its lines, `razor-e4` the words of its part, `razor-e8` its host, `rspamd` its words.
pub fn sign(mail: &[u8], ep4: &Ep4) -> Vec<Signature> {
    let message = Message::parse(mail);
    let words = Words::of(&message.text);
    let exact = own::exact(&words);
    let floor = Floor { information_bits: exact.information_bits, withheld: exact.withheld };
    let mut signatures = vec![exact];
    signatures.extend(own::near(&words));
    signatures.extend(own::urls(&message));
    signatures.extend(message.attachments.iter().map(own::part));
    signatures.extend(pyzor_of(mail));
    signatures.extend(razor_of(mail, ep4));
    signatures.extend(dcc_of(mail, &floor));
    signatures.extend(rspamd_of(mail));
    signatures
}

/// What the words of the message amount to.
struct Floor {
    information_bits: u64,
    withheld: bool,
}

fn pyzor_of(mail: &[u8]) -> Option<Signature> {
    let lines = pyzor::predigest(mail)?;
    let digest = pyzor::Digest::of(&lines);
    let lines = lines.concat();
    let information_bits = information_bits(lines.as_bytes());
    let is_short = lines.chars().count() < own::EXACT_LETTERS_MIN || information_bits < own::PYZOR_BITS_MIN;
    Some(Signature {
        kind: Kind::Pyzor,
        part: None,
        digest: Digest::Bytes(digest.as_bytes().to_vec()),
        information_bits,
        withheld: digest.is_empty() || is_short,
    })
}

fn razor_of(mail: &[u8], ep4: &Ep4) -> Vec<Signature> {
    let mut signatures = Vec::new();
    for (number, part) in razor::sign(mail, ep4).into_iter().enumerate() {
        let number = Some(number as u32);
        // A part may be a stock footer under a long message: it stands for itself.
        let words = Words::of(&String::from_utf8_lossy(&part.text));
        signatures.extend(part.e4.map(|e4| Signature {
            kind: Kind::RazorE4,
            part: number,
            digest: Digest::Text(e4.0.to_vec(), e4.to_string()),
            information_bits: information_bits(words.joined().as_bytes()),
            withheld: own::is_below_floor(&words),
        }));
        signatures.extend(part.e8.into_iter().map(|host| Signature {
            kind: Kind::RazorE8,
            part: number,
            digest: Digest::Text(host.signature.0.to_vec(), host.signature.to_string()),
            information_bits: information_bits(&host.host),
            withheld:
                std::str::from_utf8(&host.host).map_or(true, |host| url::is_shared(&host.to_lowercase())),
        }));
    }
    signatures
}

fn dcc_of(mail: &[u8], floor: &Floor) -> Vec<Signature> {
    let signature = |kind, sum: dcc::Sum| Signature {
        kind,
        part: None,
        digest: Digest::Text(sum.to_vec(), dcc::text(&sum)),
        information_bits: floor.information_bits,
        withheld: floor.withheld,
    };
    let sums = dcc::sums(mail);
    let body = sums.body.map(|sum| signature(Kind::DccBody, sum));
    let fuz1 = sums.fuz1.map(|sum| signature(Kind::DccFuz1, sum));
    body.into_iter().chain(fuz1).collect()
}

/// A footer below a longer text says nothing, and neither does a long footer below a text that is too short to say
/// anything: the first text is the message's, and what is shorter than half of the longest is none of its own.
fn rspamd_of(mail: &[u8]) -> Vec<Signature> {
    let keys = rspamd::Keys::default();
    let parts = rspamd::parts(mail);
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let is_short = |words: &Vec<String>| words.len() < own::RSPAMD_WORDS_MIN.max(longest.div_ceil(2));
    let is_beside_the_text = parts.first().is_none_or(is_short);
    let signature = |(number, words): (usize, Vec<String>)| Signature {
        kind: Kind::Rspamd,
        part: Some(number as u32),
        digest: Digest::Bytes(rspamd::digest(&words, &keys).to_vec()),
        information_bits: information_bits(words.concat().as_bytes()),
        withheld: is_beside_the_text || is_short(&words),
    };
    parts.into_iter().enumerate().map(signature).collect()
}
