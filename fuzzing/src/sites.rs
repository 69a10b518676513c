//! The laws of what travels between sites, checked on whatever the fuzzer comes up with.
//!
//! Signatures stop a fuzzer at the door. So the first byte of the input, the mode, says whether the signature is made
//! anew, by keys that everybody knows. `docs/reference/replication.md` draws the formats; the offsets are stated here a
//! second time on purpose.

use std::sync::LazyLock;

use ed25519_dalek::{Signer, SigningKey};
use seenit_sites::ask::{ANSWER_BYTES_MAX, ASK_BYTES_MAX, Ask, AskAnswer};
use seenit_sites::heartbeat::{HEADS_MAX, HOLDINGS_MAX, Heartbeat};
use seenit_sites::introduction::Introduction;
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::manifest::{Manifest, Manifests};
use seenit_sites::message::{Head, Message, Statement};
use seenit_sites::number::Generation;
use seenit_sites::roster::{Roster, SITES_MAX};
use seenit_sites::snapshot::{PACKS_MAX, SECTIONS_MAX, Snapshot};
use seenit_sites::{Arrival, Precedence, list};

/// The mode's bit that asks for a signature that fits.
const SIGN: u8 = 1;
/// The mode's bit that asks for a length and a digest of the payload that fit.
const FIT_PAYLOAD: u8 = 2;
/// The mode's bit that asks for signatures of a heartbeat's heads that fit.
const SIGN_HEADS: u8 = 2;

const SIGNATURE_BYTES: usize = 64;
/// Where the length of a message's payload stands, then its digest, then the signature.
const PAYLOAD_LENGTH_AT: usize = 165;
const PAYLOAD_DIGEST_AT: usize = 169;
const MESSAGE_SIGNATURE_AT: usize = 201;
const MESSAGE_HEAD_BYTES: usize = 265;
/// Where the number of a heartbeat's heads stands, then the heads, then the number of its holdings, of so many bytes
/// each.
const HEADS_AT: usize = 140;
const HOLDING_BYTES: usize = 81;

/// The secrets that the golden files were made with, and the seeds.
const ADMIN: [u8; 32] = [200; 32];
const SITES: [[u8; 32]; 3] = [[1; 32], [2; 32], [3; 32]];

static ADMIN_SECRET: LazyLock<AdminSecret> = LazyLock::new(|| AdminSecret::from_bytes(ADMIN));

/// The golden roster, in which the three sites are.
static ROSTER: LazyLock<Roster> = LazyLock::new(|| {
    let bytes = include_bytes!("../../crates/sites/tests/golden/roster-1.bin");
    Roster::decode(bytes, &ADMIN_SECRET.public()).expect("the golden roster")
});

/// Reads a roster and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_roster(input: &[u8]) {
    let Some(bytes) = document(input, &ADMIN) else { return };
    let network = ADMIN_SECRET.public();
    let Ok(roster) = Roster::decode(&bytes, &network) else { return };
    assert!(roster.members.len() <= SITES_MAX);
    let again = Roster::sign(&ADMIN_SECRET, roster.version, roster.members.clone());
    assert_eq!(again.as_ref(), Ok(&roster), "a roster has one encoding");
    assert!(roster.members.iter().all(|member| roster.member(&member.site) == Some(member)));
    let (there, back) = (roster.precedence(&ROSTER), ROSTER.precedence(&roster));
    assert!(there == Precedence::Same || there.replaces() != back.replaces(), "{there:?}, {back:?}");
    assert!(Roster::decode(&flipped(&bytes), &network).is_err(), "one bit flipped makes it none");
}

/// Reads an introduction and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_introduction(input: &[u8]) {
    let Some(bytes) = document(input, &SITES[1]) else { return };
    let Ok(introduction) = Introduction::decode(&bytes) else { return };
    assert_eq!(introduction.bytes(), bytes);
    assert_eq!(introduction.to_string().parse().as_ref(), Ok(&introduction), "a line has one reading");
    assert!(Introduction::decode(&flipped(&bytes)).is_err(), "one bit flipped makes it none");
}

/// Reads a manifest, opens it, and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_manifest(input: &[u8]) {
    let Some(bytes) = document(input, &ADMIN) else { return };
    let network = ADMIN_SECRET.public();
    let Ok(manifest) = Manifest::decode(&bytes, &network) else { return };
    assert_eq!(manifest.bytes, bytes);
    assert!(manifest.sites().is_sorted() && manifest.sites().count() <= SITES_MAX);
    for secret in SITES.map(SiteSecret::from_bytes) {
        if let Ok(key) = manifest.open(&secret) {
            assert_eq!(key.fingerprint(), manifest.key, "a key that opens is the one that is named");
        }
    }
    assert!(Manifest::decode(&flipped(&bytes), &network).is_err(), "one bit flipped makes it none");
    let (number, first) = (manifest.number, manifest.terms.first_generation);
    let mut all = Manifests::new();
    assert!(matches!(all.add(manifest.clone(), Some(first)), Ok(Precedence::Newer)));
    assert!(matches!(all.add(manifest.clone(), Some(first)), Ok(Precedence::Same)));
    assert!(all.applies(number, first) && all.holding(first) == Some(&manifest));
    assert!(all.applies(number, Generation(u64::MAX)), "the last manifest holds until there is another");
}

/// Reads a message and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_message(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    let mut bytes = rest.to_vec();
    forge_message(&mut bytes, mode);
    let Ok(message) = Message::decode(&bytes, &ROSTER) else { return };
    let Head { id, previous, manifest, time_secs, .. } = message.head;
    assert_eq!(message.head.is_alone(), message.head.sequence == previous);
    assert_eq!(message.head.bytes(), bytes[..MESSAGE_HEAD_BYTES]);
    assert_eq!(Head::decode(&bytes[..MESSAGE_HEAD_BYTES], &ROSTER), Ok(message.head));
    assert!(Message::decode(&flipped(&bytes), &ROSTER).is_err(), "one bit flipped makes it none");
    let signers = SITES.map(SiteSecret::from_bytes);
    if let Some(secret) = signers.iter().find(|secret| secret.public() == id.site) {
        let (incarnation, stream, at) = (id.incarnation, id.stream, message.head.chain());
        let statement = Statement { incarnation, stream, previous, at, manifest, time_secs };
        let again = Message::sign(secret, &ROSTER.network, statement, message.payload);
        assert_eq!(again, Ok(bytes.clone()), "a message has one encoding");
    }
}

/// Reads a heartbeat and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_heartbeat(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    let mut rest = rest.to_vec();
    if mode & SIGN_HEADS != 0 {
        let heads = rest.get_mut(HEADS_AT + 2..).unwrap_or_default();
        heads.chunks_exact_mut(MESSAGE_HEAD_BYTES).take(HEADS_MAX).for_each(|head| forge_message(head, SIGN));
    }
    let Some(bytes) = document(&[&[mode], rest.as_slice()].concat(), &SITES[1]) else { return };
    let Ok(heartbeat) = Heartbeat::decode(&bytes, &ROSTER) else { return };
    assert_eq!(Arrival::of(&bytes), Some(Arrival::Heartbeat));
    assert!(heartbeat.heads.len() <= HEADS_MAX && heartbeat.holdings.len() <= HOLDINGS_MAX);
    assert!(heartbeat.heads.iter().all(|head| head.id.site == heartbeat.site));
    assert!(Heartbeat::decode(&flipped(&bytes), &ROSTER).is_err(), "one bit flipped makes it none");
    let secret = SiteSecret::from_bytes(SITES[1]);
    let holdings_at = HEADS_AT + 2 + heartbeat.heads.len() * MESSAGE_HEAD_BYTES + 2;
    let said = bytes.len() - SIGNATURE_BYTES - holdings_at;
    // A holding of a site that is not in the roster is passed over, and not written again.
    if secret.public() == heartbeat.site && said == heartbeat.holdings.len() * HOLDING_BYTES {
        assert_eq!(heartbeat.sign(&secret, &ROSTER.network), Ok(bytes), "a heartbeat has one encoding");
    }
}

/// Reads an ask and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_ask(bytes: &[u8]) {
    let Ok(ask) = Ask::decode(bytes, &ROSTER) else { return };
    assert_eq!(Arrival::of(bytes), Some(Arrival::Ask));
    assert!(bytes.len() <= ASK_BYTES_MAX);
    assert_eq!(ask.encode(), bytes, "an ask has one encoding");
    assert_ne!(Ask::decode(&flipped(bytes), &ROSTER), Ok(ask), "one bit flipped asks for something else");
}

/// Reads an answer, and the same bytes as a list, and holds them against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_answer(bytes: &[u8]) {
    check_list(bytes);
    let Ok(answer) = AskAnswer::decode(bytes, &ROSTER) else { return };
    assert_eq!(Arrival::of(bytes), Some(Arrival::Answer));
    assert!(bytes.len() <= ANSWER_BYTES_MAX);
    assert_eq!(answer.encode(), bytes, "an answer has one encoding");
    assert_ne!(
        AskAnswer::decode(&flipped(bytes), &ROSTER),
        Ok(answer),
        "one bit flipped says something else"
    );
}

/// Reads the manifest of a snapshot and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check_snapshot(input: &[u8]) {
    let Some(bytes) = document(input, &SITES[1]) else { return };
    let Ok(snapshot) = Snapshot::decode(&bytes, &ROSTER) else { return };
    assert_eq!(Arrival::of(&bytes), Some(Arrival::Snapshot));
    assert!(snapshot.sections.len() <= SECTIONS_MAX && snapshot.packs.len() <= PACKS_MAX);
    assert!(snapshot.sections.iter().all(|section| section.id.site == snapshot.site));
    assert!(Snapshot::decode(&flipped(&bytes), &ROSTER).is_err(), "one bit flipped makes it none");
    let secret = SiteSecret::from_bytes(SITES[1]);
    if secret.public() == snapshot.site {
        assert_eq!(snapshot.sign(&secret, &ROSTER.network), Ok(bytes), "a snapshot has one encoding");
    }
}

/// Any bytes are a list that says the same when it is written again, or none.
fn check_list(bytes: &[u8]) {
    let Ok(items) = list::all(bytes) else { return };
    assert_eq!(list::items(bytes, items.len() as u64).as_ref(), Ok(&items));
    let mut again = Vec::new();
    items.iter().for_each(|item| list::push(&mut again, item));
    assert_eq!(again, bytes, "a list has one encoding");
}

/// The document of an input, signed with a secret if its mode asks for that.
fn document(input: &[u8], secret: &[u8; 32]) -> Option<Vec<u8>> {
    let (&mode, rest) = input.split_first()?;
    let mut bytes = rest.to_vec();
    if mode & SIGN != 0 {
        let (body, signature) = bytes.split_last_chunk_mut::<SIGNATURE_BYTES>()?;
        *signature = SigningKey::from_bytes(secret).sign(body).to_bytes();
    }
    Some(bytes)
}

/// Makes what the mode asks for, the payload's digest before the signature. The second site signs, as in the seeds.
fn forge_message(bytes: &mut [u8], mode: u8) {
    let Some((head, payload)) = bytes.split_at_mut_checked(MESSAGE_HEAD_BYTES) else { return };
    if mode & FIT_PAYLOAD != 0 {
        let digest = blake3::keyed_hash(b"seenit payload v1               ", payload);
        head[PAYLOAD_LENGTH_AT..PAYLOAD_DIGEST_AT].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        head[PAYLOAD_DIGEST_AT..MESSAGE_SIGNATURE_AT].copy_from_slice(digest.as_bytes());
    }
    if mode & SIGN != 0 {
        let (body, signature) = head.split_at_mut(MESSAGE_SIGNATURE_AT);
        signature.copy_from_slice(&SigningKey::from_bytes(&SITES[1]).sign(body).to_bytes());
    }
}

/// The same bytes with one bit flipped, in the middle.
fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    if let Some(byte) = flipped.get_mut(bytes.len() / 2) {
        *byte ^= 1;
    }
    flipped
}
