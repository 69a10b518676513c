//! Commands and replies that only the other side can read.
//!
//! The cipher is XChaCha20, of which the first block is the key of a Poly1305 over the ciphertext and nothing else. No
//! standard has it so: the usual AEAD also authenticates lengths, and NaCl's box begins within the first block.

use chacha20::XChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit;
use subtle::ConstantTimeEq;

use super::{Command, CommandError, DATAGRAM_BYTES_MAX, PublicKey, SharedKey};

/// What a sealed command begins with.
pub(super) const MAGIC: &[u8; 4] = b"rsfe";

/// A number that seals one packet, and no other of the same key.
pub type Nonce = [u8; 24];

/// One datagram of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Packets live on the stack for the time of one datagram: a box would be an allocation for each.
#[allow(clippy::large_enum_variant)]
pub enum Packet<'a> {
    /// A command in the clear.
    Plain(Command),
    /// A command that is yet to be opened.
    Sealed(Sealed<'a>),
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, CommandError> {
        match datagram.strip_prefix(MAGIC) {
            Some(rest) => {
                let sealed = Sealed::decode(rest).filter(|_| datagram.len() <= DATAGRAM_BYTES_MAX);
                sealed.map(Self::Sealed).ok_or(CommandError::Length(datagram.len()))
            }
            None => Command::decode(datagram).map(Self::Plain),
        }
    }
}

/// A command that only the owner of a key can read. It borrows the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// The first bytes of the public key of this server that it is sealed for.
    pub key_id: [u8; 8],
    /// The public key of the client, which lasts until it restarts.
    pub client: PublicKey,
    nonce: Nonce,
    tag: [u8; 16],
    ciphertext: &'a [u8],
}

impl<'a> Sealed<'a> {
    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (key_id, rest) = bytes.split_first_chunk()?;
        let (client, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (tag, ciphertext) = rest.split_first_chunk()?;
        let client = PublicKey::from_bytes(*client);
        Some(Self { key_id: *key_id, client, nonce: *nonce, tag: *tag, ciphertext })
    }

    /// The command, if it was sealed with this key.
    pub fn open(&self, key: &SharedKey) -> Result<Command, CommandError> {
        let mut place = [0; DATAGRAM_BYTES_MAX];
        let length = CommandError::Length(self.ciphertext.len());
        let text = place.get_mut(..self.ciphertext.len()).ok_or(length)?;
        text.copy_from_slice(self.ciphertext);
        open(key, &self.nonce, &self.tag, text).ok_or(CommandError::Seal)?;
        Command::decode(text)
    }
}

/// Makes a text of a ciphertext, if it was sealed with this key.
pub(super) fn open(key: &SharedKey, nonce: &Nonce, tag: &[u8; 16], text: &mut [u8]) -> Option<()> {
    let mut cipher = Cipher::new(key, nonce);
    bool::from(cipher.tag(text).ct_eq(tag)).then(|| cipher.stream.apply_keystream(text))
}

/// Appends the nonce, the tag and the ciphertext of a text.
pub(super) fn seal(key: &SharedKey, nonce: &Nonce, text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(nonce);
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(text);
    let Some((tag, text)) = out.get_mut(start + nonce.len()..).and_then(<[u8]>::split_first_chunk_mut) else {
        return;
    };
    let mut cipher = Cipher::new(key, nonce);
    cipher.stream.apply_keystream(text);
    *tag = cipher.tag(text);
}

/// The stream after its first block, and what that block was for.
struct Cipher {
    stream: XChaCha20,
    authenticator: Poly1305,
}

impl Cipher {
    fn new(key: &SharedKey, nonce: &Nonce) -> Self {
        let mut stream = XChaCha20::new(key.bytes().into(), nonce.into());
        // The whole block is spent, and half of it used.
        let mut block = [[0; 32]; 2];
        stream.apply_keystream(block.as_flattened_mut());
        let [key, _] = &block;
        Self { stream, authenticator: Poly1305::new(key.into()) }
    }

    fn tag(&self, ciphertext: &[u8]) -> [u8; 16] {
        self.authenticator.clone().compute_unpadded(ciphertext).into()
    }
}
