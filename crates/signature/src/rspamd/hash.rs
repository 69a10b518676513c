//! MUM, the hash by Vladimir Makarov ("multiply and mix"), in its first version, which rspamd kept.

/// What the eight-byte groups of a block are multiplied by. They and the numbers below are the algorithm's own.
const GROUPS: [u64; 4] =
    [0x9ebd_cae1_0d98_1691, 0x32b9_b9b9_7a27_ac7d, 0x29b5_584d_83d3_5bbd, 0x4b04_e0e6_1401_255f];
const START: u64 = 0xc42b_5e2e_6480_b23b;
const BLOCK: u64 = 0x7b51_ec3d_22f7_096f;
const TAIL: u64 = 0xaf47_d47c_99b1_461b;
const FINISH: [u64; 2] = [0xa9a7_ae7c_eff7_9f3f, 0xaf47_d47c_99b1_461b];

/// The hash of some bytes.
pub(super) fn mum(bytes: &[u8], seed: u64) -> u64 {
    let mut state = mix(seed.wrapping_add(bytes.len() as u64), START);
    let mut rest = bytes;
    // The last block is not closed, even if it is full.
    while let Some((block, after)) = rest.split_first_chunk::<32>().filter(|(_, after)| !after.is_empty()) {
        state = mix(take_groups(state, block), BLOCK);
        rest = after;
    }
    state = take_groups(state, rest);
    FINISH.iter().fold(state, |state, factor| state ^ mix(state, *factor))
}

/// Takes in up to one block: whole groups first, then what is left over.
fn take_groups(mut state: u64, block: &[u8]) -> u64 {
    let (groups, tail) = block.as_chunks::<8>();
    for (group, factor) in groups.iter().zip(GROUPS) {
        state ^= mix(u64::from_le_bytes(*group), factor);
    }
    if !tail.is_empty() {
        let value = tail.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        state ^= mix(value, TAIL);
    }
    state
}

/// Both halves of the product, added.
fn mix(value: u64, factor: u64) -> u64 {
    let product = u128::from(value) * u128::from(factor);
    (product as u64).wrapping_add((product >> 64) as u64)
}
