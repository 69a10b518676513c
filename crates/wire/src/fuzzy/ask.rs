//! The client's side: commands are written, in the clear or sealed, and replies read.

use super::command::{VERSION_WITH_EXTENSIONS, VERSIONS};
use super::reply::{FULL_BYTES, SHORT_BYTES};
use super::{Command, Form, Nonce, PublicKey, Reply, SHINGLES, SharedKey, seal};

impl Command {
    /// Appends the command, in the clear and without extensions, which say who sent the mail.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let version = match self.form {
            Form::Short => *VERSIONS.start(),
            Form::Full => VERSION_WITH_EXTENSIONS,
        };
        let shingles = if self.shingles.is_some() { SHINGLES as u8 } else { 0 };
        out.extend_from_slice(&[version, self.action.to_wire(), shingles, self.flag]);
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(&self.tag.to_le_bytes());
        out.extend_from_slice(&self.digest);
        for shingle in self.shingles.iter().flatten() {
            out.extend_from_slice(&shingle.to_le_bytes());
        }
    }

    /// Appends the command, sealed `from` a client `to` a server, whose keys have this one in common. A nonce must
    /// never be used twice with a key; random ones are not.
    pub fn encode_sealed(
        &self,
        from: &PublicKey,
        to: &PublicKey,
        key: &SharedKey,
        nonce: &Nonce,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(seal::MAGIC);
        out.extend_from_slice(&to.id());
        out.extend_from_slice(from.bytes());
        let mut text = Vec::new();
        self.encode(&mut text);
        seal::seal(key, nonce, &text, out);
    }
}

impl Reply {
    /// Reads a reply in the clear; none where it is no reply of that form.
    pub fn decode(form: Form, bytes: &[u8]) -> Option<Self> {
        let length = match form {
            Form::Short => SHORT_BYTES,
            Form::Full => FULL_BYTES,
        };
        let mut place = [0; FULL_BYTES];
        place.get_mut(..length)?.copy_from_slice(Some(bytes).filter(|bytes| bytes.len() == length)?);
        let (value, rest) = place.split_first_chunk()?;
        let (flag, rest) = rest.split_first_chunk()?;
        let (tag, rest) = rest.split_first_chunk()?;
        let (probability, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        Some(Self {
            value: i32::from_le_bytes(*value),
            flag: u32::from_le_bytes(*flag),
            tag: u32::from_le_bytes(*tag),
            probability: f32::from_le_bytes(*probability),
            digest: *digest,
            time: u32::from_le_bytes(*rest.first_chunk()?),
        })
    }

    /// Reads a sealed reply; none where it was not sealed with this key.
    pub fn open(form: Form, bytes: &[u8], key: &SharedKey) -> Option<Self> {
        let (nonce, rest) = bytes.split_first_chunk::<24>()?;
        let (tag, ciphertext) = rest.split_first_chunk::<16>()?;
        let mut place = [0; FULL_BYTES];
        let text = place.get_mut(..ciphertext.len())?;
        text.copy_from_slice(ciphertext);
        seal::open(key, nonce, tag, text)?;
        Self::decode(form, text)
    }
}
