//! The frame of every packet: header before, signature behind.

use super::SIGNATURE_BYTES;

/// What a packet begins with, but for its length.
pub(super) struct Head {
    pub(super) version: u8,
    pub(super) op: u8,
    pub(super) sender: u32,
    pub(super) numbers: [u8; 16],
}

/// Appends a packet with that body. What is signed is all that stands before the signature.
pub(super) fn write(
    head: &Head,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>),
    sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, head.version, head.op]);
    out.extend_from_slice(&head.sender.to_be_bytes());
    out.extend_from_slice(&head.numbers);
    body(out);
    // Every body is bounded far below what two bytes can say, but for more checksums than a request has.
    let length = u16::try_from(out.len() - start + SIGNATURE_BYTES).unwrap_or(u16::MAX);
    if let Some(place) = out.get_mut(start..start + 2) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    let signature = sign(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&signature);
}
