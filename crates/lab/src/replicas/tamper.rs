//! What somebody did to the mail or to what is learnt of it; nothing by default.

use std::collections::{HashMap, HashSet};

use super::mail::{Mail, Shingles};

/// What is other than in a plain pass.
#[derive(Default)]
pub(super) struct Tamper {
    /// Learnt before anything arrives, as spam or not.
    pub(super) before: Vec<(Shingles, bool)>,
    /// Learnt as good when the first of these messages has arrived.
    pub(super) forged: Option<(HashSet<usize>, Shingles)>,
    /// Spam that is learnt as good.
    pub(super) called_ham: HashSet<usize>,
    /// Messages with other shingles than their own.
    pub(super) replaced: HashMap<usize, Option<Shingles>>,
}

impl Tamper {
    /// The shingles with which a message arrives.
    pub(super) fn shingles<'a>(&'a self, number: usize, mail: &'a Mail) -> Option<&'a Shingles> {
        self.replaced.get(&number).unwrap_or(&mail.shingles).as_ref()
    }

    /// What else is learnt when a message has arrived, given whether one like it had arrived before.
    pub(super) fn forged_by(&self, number: usize, is_done: bool) -> Option<&Shingles> {
        let (first_of, shingles) = self.forged.as_ref()?;
        (!is_done && first_of.contains(&number)).then_some(shingles)
    }
}
