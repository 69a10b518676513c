//! A client of the fuzzy protocol, written from its description and not from the server's code.
#![allow(dead_code, reason = "each test file uses its part of this")]

use std::net::UdpSocket;
use std::time::Duration;

use chacha20::cipher::{KeyIvInit, StreamCipher};
use chacha20::{R20, XChaCha20, hchacha};
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use x25519_dalek::{PublicKey, StaticSecret};

/// Far longer than an answer takes, also where it waits for the disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What a reply says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) value: i32,
    pub(crate) flag: u32,
    pub(crate) probability: f32,
}

/// What a client seals with.
pub(crate) struct Seal {
    /// Magic, name of the server's key, and the client's own.
    head: Vec<u8>,
    key: [u8; 32],
}

/// A client on a port of its own.
pub(crate) struct Client {
    socket: UdpSocket,
    seal: Option<Seal>,
    tag: u32,
    last: Vec<u8>,
}

impl Client {
    pub(crate) fn plain(server: &str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(server).expect("loopback");
        socket.set_read_timeout(Some(ANSWER_WITHIN)).expect("a timeout");
        Client { socket, seal: None, tag: 0xfa00_0000, last: Vec::new() }
    }

    pub(crate) fn sealed(server: &str, key: &str) -> Self {
        Client { seal: Some(Seal::to(key)), ..Client::plain(server) }
    }

    pub(crate) fn send(&self, bytes: &[u8]) {
        self.socket.send(bytes).expect("loopback takes it");
    }

    /// As a client does that heard nothing.
    pub(crate) fn send_again(&self) {
        self.send(&self.last);
    }

    /// Asks, and hears the answer to that.
    pub(crate) fn ask(
        &mut self,
        action: u8,
        (flag, value): (u8, i32),
        digest: &[u8; 64],
        shingles: Option<&[u64; 32]>,
    ) -> Option<Heard> {
        self.ask_all(action, (flag, value), &[(digest, shingles)]).map(|heard| heard[0])
    }

    /// Asks about all parts of a message before it hears an answer, as rspamd does, and hears one for each of them.
    pub(crate) fn ask_all(
        &mut self,
        action: u8,
        (flag, value): (u8, i32),
        parts: &[(&[u8; 64], Option<&[u64; 32]>)],
    ) -> Option<Vec<Heard>> {
        let first = self.tag + 1;
        for (digest, shingles) in parts {
            self.tag += 1;
            let command = command(action, (flag, value), self.tag, digest, *shingles);
            self.last = match &self.seal {
                None => command,
                Some(seal) => seal.close(self.tag, &command),
            };
            self.send(&self.last);
        }
        let mut heard = vec![None; parts.len()];
        for _ in parts {
            let (tag, answer) = self.hear()?;
            // What waits for the disk may be answered after what does not.
            let place = tag.checked_sub(first).and_then(|number| heard.get_mut(number as usize));
            let before = place.unwrap_or_else(|| panic!("nobody asked {tag:x}")).replace(answer);
            assert_eq!(before, None, "{tag:x} was answered twice");
        }
        heard.into_iter().collect()
    }

    /// An answer, and the tag of what it answers.
    fn hear(&self) -> Option<(u32, Heard)> {
        let mut place = [0; 2048];
        let length = self.socket.recv(&mut place).ok()?;
        let reply = match &self.seal {
            None => place[..length].to_vec(),
            Some(seal) => seal.open(&place[..length]).expect("sealed for us"),
        };
        assert_eq!(reply.len(), 96);
        let number = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().expect("four bytes"));
        let heard = Heard {
            value: number(0).cast_signed(),
            flag: number(4),
            probability: f32::from_bits(number(12)),
        };
        Some((number(8), heard))
    }
}

impl Seal {
    /// For a server with this public key.
    pub(crate) fn to(key: &str) -> Self {
        let (secret, theirs) = (StaticSecret::from([0x5e; 32]), key_of(key));
        let shared = secret.diffie_hellman(&PublicKey::from(theirs));
        let key = hchacha::<R20>(shared.as_bytes().into(), &[0; 16].into()).into();
        let head = [&b"rsfe"[..], &theirs[..8], PublicKey::from(&secret).as_bytes()].concat();
        Seal { head, key }
    }

    /// The datagram with a command, or with whatever else is sent for one.
    pub(crate) fn close(&self, number: u32, text: &[u8]) -> Vec<u8> {
        let mut nonce = [0; 24];
        nonce[..4].copy_from_slice(&number.to_le_bytes());
        let (mut stream, authenticator) = cipher(&self.key, &nonce);
        let mut text = text.to_vec();
        stream.apply_keystream(&mut text);
        let tag: [u8; 16] = authenticator.compute_unpadded(&text).into();
        [&self.head[..], &nonce, &tag, &text].concat()
    }

    /// What a reply says, if it was sealed for this client.
    pub(crate) fn open(&self, reply: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = reply.split_at_checked(24)?;
        let (tag, text) = rest.split_at_checked(16)?;
        let (mut stream, authenticator) = cipher(&self.key, nonce);
        let expected: [u8; 16] = authenticator.compute_unpadded(text).into();
        let mut text = text.to_vec();
        stream.apply_keystream(&mut text);
        (tag == expected).then_some(text)
    }
}

/// A command in the clear.
pub(crate) fn command(
    action: u8,
    (flag, value): (u8, i32),
    tag: u32,
    digest: &[u8; 64],
    shingles: Option<&[u64; 32]>,
) -> Vec<u8> {
    let mut command = vec![4, action, if shingles.is_some() { 32 } else { 0 }, flag];
    command.extend(value.to_le_bytes());
    command.extend(tag.to_le_bytes());
    command.extend(digest);
    command.extend(shingles.into_iter().flatten().flat_map(|shingle| shingle.to_le_bytes()));
    // Who sent the mail: an extension that a server reads over.
    command.extend(b"d\x07example");
    command
}

/// The stream after its first block, and the authenticator that block is for.
fn cipher(key: &[u8; 32], nonce: &[u8]) -> (XChaCha20, Poly1305) {
    let nonce: [u8; 24] = nonce.try_into().expect("24 bytes");
    let mut stream = XChaCha20::new(key.into(), (&nonce).into());
    let mut block = [0; 64];
    stream.apply_keystream(&mut block);
    let key: [u8; 32] = block[..32].try_into().expect("32 bytes");
    (stream, Poly1305::new((&key).into()))
}

/// The bytes of a key in rspamd's base32, lowest bits first.
fn key_of(text: &str) -> [u8; 32] {
    let mut key = [0; 32];
    for (at, letter) in text.bytes().enumerate() {
        let value = b"ybndrfg8ejkmcpqxot1uwisza345h769".iter().position(|known| *known == letter);
        let value = value.expect("a letter of it");
        (0..5).filter(|bit| value >> bit & 1 == 1).for_each(|bit| {
            let place = 5 * at + bit;
            key[place / 8] |= 1 << (place % 8);
        });
    }
    key
}
