//! Hostile bytes, the same in every run.

/// A small generator.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Bytes that are random, or a sound request with some of it changed, cut or repeated.
    pub(crate) fn hostile<T: AsRef<[u8]>>(&mut self, sound: &[T]) -> Vec<u8> {
        if self.below(4) == 0 {
            return (0..self.below(300)).map(|_| self.next() as u8).collect();
        }
        let mut bytes = sound[self.below(sound.len())].as_ref().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len().max(1));
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.extend_from_within(at.min(bytes.len())..),
                2 => bytes.insert(at.min(bytes.len()), self.next() as u8),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
        bytes
    }

    /// The same, without what still is a sound write: that would be remembered, and rightly.
    pub(crate) fn hostile_but<T: AsRef<[u8]>>(
        &mut self,
        sound: &[T],
        is_write: impl Fn(&[u8]) -> bool,
    ) -> Vec<u8> {
        loop {
            let bytes = self.hostile(sound);
            if !is_write(&bytes) {
                return bytes;
            }
        }
    }
}
