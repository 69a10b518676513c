//! Bits picked out of a word, and laid back: what the instructions PEXT and PDEP do, on any processor.
//!
//! A [`Picker`] does it: `gather_x86::Instructions` where the processor has them, else [`Tables`], with the same
//! results. Tables take six bits at a time from 8 KiB, which stay in the first-level cache. A table for eight bits
//! would be 128 KiB and does not.

/// Picks bits out of words and lays them back.
pub(super) trait Picker: Copy {
    /// Whether picking costs about as much as asking whether it is needed.
    const FAST: bool;

    /// The bits of `word` where `mask` has ones, side by side, lowest first.
    fn gather(self, word: u64, mask: u64) -> u64;

    /// The low bits of `bits`, one to each place where `mask` has a one: undoes [`gather`](Self::gather). Other bits
    /// go nowhere.
    fn scatter(self, bits: u64, mask: u64) -> u64;
}

/// Something to be done with the best picker. All that it calls for each word is to be inlined into
/// [`run`](Self::run), and `run` as well: a picker's instructions are only fast without a call.
pub(super) trait Work {
    type Output;

    fn run<P: Picker>(self, picker: P) -> Self::Output;
}

/// Does the work with the best picker that this processor has.
pub(super) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(picker) = super::gather_x86::Instructions::detect() {
        return picker.run(work);
    }
    work.run(Tables)
}

/// Picks with tables, on any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables;

/// Bits looked up at a time.
const STEP: u32 = 6;
const STEP_MASK: u64 = (1 << STEP) - 1;
const TABLE_LEN: usize = 1 << (2 * STEP);

/// At `mask << 6 | bits`: the bits of `bits` where `mask` has ones, side by side; 8 bits up, how many those are.
static GATHERED: [u16; TABLE_LEN] = table(false);
/// At `mask << 6 | bits`: the low bits of `bits`, one to each place where `mask` has a one; 8 bits up, how many.
static SCATTERED: [u16; TABLE_LEN] = table(true);

const fn table(scattered: bool) -> [u16; TABLE_LEN] {
    let mut table = [0; TABLE_LEN];
    let mut at = 0;
    while at < TABLE_LEN {
        let mask = at >> STEP;
        let bits = at & STEP_MASK as usize;
        let mut place = 0;
        let mut rank = 0;
        while place < STEP {
            if mask >> place & 1 == 1 {
                let (from, to) = if scattered { (rank, place) } else { (place, rank) };
                table[at] |= ((bits >> from & 1) << to) as u16;
                rank += 1;
            }
            place += 1;
        }
        table[at] |= (rank as u16) << 8;
        at += 1;
    }
    table
}

impl Picker for Tables {
    const FAST: bool = false;

    #[inline(always)]
    fn gather(self, word: u64, mask: u64) -> u64 {
        if mask == u64::MAX {
            return word;
        }
        let mut gathered = 0;
        let mut rank = 0;
        let mut shift = 0;
        while shift < 64 {
            let index = (mask >> shift & STEP_MASK) << STEP | word >> shift & STEP_MASK;
            let entry = GATHERED[index as usize];
            // The rank is 64 only where nothing is left to add.
            gathered |= u64::from(entry & 0xff) << (rank & 63);
            rank += u32::from(entry >> 8);
            shift += STEP;
        }
        gathered
    }

    #[inline(always)]
    fn scatter(self, mut bits: u64, mask: u64) -> u64 {
        if mask == u64::MAX {
            return bits;
        }
        let mut scattered = 0;
        let mut shift = 0;
        while shift < 64 {
            let index = (mask >> shift & STEP_MASK) << STEP | bits & STEP_MASK;
            let entry = SCATTERED[index as usize];
            scattered |= u64::from(entry & 0xff) << shift;
            bits >>= entry >> 8;
            shift += STEP;
        }
        scattered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// Picks from many words and holds every result against one bit after the other.
    struct Compare;

    impl Work for Compare {
        type Output = ();

        fn run<P: Picker>(self, picker: P) {
            let mut rng = SplitMix(2);
            let sparse = |rng: &mut SplitMix| rng.next() & rng.next() & rng.next();
            for round in 0..2000 {
                let (word, mask) = match round {
                    0 => (u64::MAX, u64::MAX),
                    1 => (u64::MAX, 0),
                    2 => (u64::MAX, 1 << 63),
                    _ if round % 3 == 0 => (rng.next(), sparse(&mut rng)),
                    _ if round % 3 == 1 => (rng.next(), !sparse(&mut rng)),
                    _ => (rng.next(), rng.next()),
                };
                let mut expected = 0;
                let mut rank = 0;
                for place in (0..64).filter(|place| mask >> place & 1 == 1) {
                    expected |= (word >> place & 1) << rank;
                    rank += 1;
                }
                assert_eq!(picker.gather(word, mask), expected, "{word:x} {mask:x}");
                // What lies above finds no place.
                let above = u64::MAX.checked_shl(rank).unwrap_or(0) & rng.next();
                assert_eq!(picker.scatter(expected | above, mask), word & mask, "{word:x} {mask:x}");
            }
        }
    }

    #[test]
    fn gathering_and_scattering_bit_by_bit() {
        Compare.run(Tables);
        run(Compare);
    }
}
