//! How a command is answered: in the clear or sealed, in full or short.

use seenit_wire::fuzzy::{Form, Nonce, Reply, SharedKey};

/// How a command is answered.
#[derive(Clone)]
pub(super) struct Envelope {
    pub(super) form: Form,
    /// What a sealed command was opened with.
    pub(super) key: Option<SharedKey>,
}

impl Envelope {
    /// Appends the reply. Without random bits nothing can be sealed, and nothing is said.
    pub(super) fn write(&self, reply: &Reply, out: &mut Vec<u8>) {
        match &self.key {
            None => reply.encode(self.form, out),
            Some(key) => {
                let mut nonce = Nonce::default();
                if getrandom::fill(&mut nonce).is_ok() {
                    reply.encode_sealed(self.form, key, &nonce, out);
                }
            }
        }
    }
}
