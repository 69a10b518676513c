//! A set of tags: what a lookup answers.

use std::fmt;

/// Tags by number: bit t says that tag t is in the set.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tags(pub u64);

impl Tags {
    /// Whether `tag` is one of them.
    #[inline]
    pub fn contains(self, tag: u32) -> bool {
        tag < u64::BITS && self.0 >> tag & 1 == 1
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The tags, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let tag = (rest != 0).then(|| rest.trailing_zeros());
            rest &= rest.wrapping_sub(1);
            tag
        })
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_tags_lists_them() {
        let tags = Tags(1 << 63 | 0b1001);
        assert_eq!(tags.iter().collect::<Vec<_>>(), [0, 3, 63]);
        assert_eq!(
            (tags.len(), tags.contains(3), tags.contains(4), tags.contains(64)),
            (3, true, false, false)
        );
        assert_eq!(format!("{tags:?} {:?}", Tags::default()), "{0, 3, 63} {}");
        assert!(Tags::default().is_empty() && !tags.is_empty());
    }
}
