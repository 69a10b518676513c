//! What a command is answered.

use super::{Command, Digest, Form, SharedKey, seal};

/// A reply to a client of version 3.
pub(super) const SHORT_BYTES: usize = 16;
/// A reply to any other.
pub(super) const FULL_BYTES: usize = 96;

/// One reply. Clients take anything with a probability above one half for a hit, or for success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reply {
    /// The weight of the match, or why there is none.
    pub value: i32,
    /// The list of the match, or how many digests are known.
    pub flag: u32,
    /// The command's.
    pub tag: u32,
    /// How much of it matched.
    pub probability: f32,
    /// The digest that matched.
    pub digest: Digest,
    /// When it was first written, in seconds of Unix. Clients only log it.
    pub time: u32,
}

/// Why a command was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The digest is one of which this server has no opinion.
    Skipped,
    /// The client may not do this, or not now.
    Forbidden,
    /// Only sealed commands are served.
    SealRequired,
    /// The server cannot.
    Broken,
}

impl Refusal {
    fn code(self) -> i32 {
        match self {
            Self::Skipped => 401,
            Self::Forbidden => 403,
            Self::SealRequired => 415,
            Self::Broken => 500,
        }
    }
}

impl Reply {
    /// Nothing is known of it.
    pub fn miss(to: &Command) -> Self {
        Self { value: 0, flag: 0, tag: to.tag, probability: 0.0, digest: [0; 64], time: 0 }
    }

    /// A write or a deletion is done, or a ping has arrived.
    pub fn done(to: &Command) -> Self {
        Self { flag: u32::from(to.flag), probability: 1.0, digest: to.digest, ..Self::miss(to) }
    }

    /// So many digests are known.
    pub fn count(to: &Command, digests: u32) -> Self {
        Self { flag: digests, probability: 1.0, digest: to.digest, ..Self::miss(to) }
    }

    /// It was not done.
    pub fn refused(to: &Command, refusal: Refusal) -> Self {
        Self { value: refusal.code(), ..Self::miss(to) }
    }

    /// Appends the reply, in the clear: 16 or 96 bytes.
    pub fn encode(&self, form: Form, out: &mut Vec<u8>) {
        out.extend_from_slice(self.in_form(form, &mut [0; FULL_BYTES]));
    }

    /// Appends the reply, sealed: 40 bytes more. A nonce must never be used twice with a key; random ones are not.
    pub fn encode_sealed(&self, form: Form, key: &SharedKey, nonce: &seal::Nonce, out: &mut Vec<u8>) {
        seal::seal(key, nonce, self.in_form(form, &mut [0; FULL_BYTES]), out);
    }

    fn in_form<'a>(&self, form: Form, place: &'a mut [u8; FULL_BYTES]) -> &'a [u8] {
        let numbers = [
            self.value.to_le_bytes(),
            self.flag.to_le_bytes(),
            self.tag.to_le_bytes(),
            self.probability.to_le_bytes(),
        ];
        let (head, rest) = place.split_at_mut(SHORT_BYTES);
        let (digest, rest) = rest.split_at_mut(self.digest.len());
        // What is left at the end is reserved, and zero.
        let (time, _) = rest.split_at_mut(size_of_val(&self.time));
        head.copy_from_slice(numbers.as_flattened());
        digest.copy_from_slice(&self.digest);
        time.copy_from_slice(&self.time.to_le_bytes());
        match form {
            Form::Short => place.first_chunk::<SHORT_BYTES>().map_or(&[], |short| short),
            Form::Full => place,
        }
    }
}
