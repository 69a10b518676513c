//! What each account has added to memory, by generation, and the signatures of opinions that weigh nothing: kept in the
//! commits that add them, so that a restart forgets nothing of them.

use std::collections::HashMap;
use std::ops::Range;

use seenit_filter::hash::Hash128;

use super::{Journal, JournalBatch, JournalError, bulk_key, hash_of, odd_row};
use crate::reporter::ReporterId;
use crate::share::{Share, Shares};

/// What there are rows of in `meta`, and what these begin with; the generation (8 bytes) and the account (4) follow,
/// highest first.
const PREFIXES: [(Share, &[u8]); 3] =
    [(Share::Signatures, b"share-"), (Share::Texts, b"texts-"), (Share::Named, b"named-")];

/// `None` of what own reporters have no share of.
fn key(what: Share, generation: u64, who: ReporterId) -> Option<Vec<u8>> {
    let (_, prefix) = PREFIXES.into_iter().find(|(one, _)| *one == what)?;
    Some([prefix, &generation.to_be_bytes(), &who.0.to_be_bytes()].concat())
}

/// What somebody added in a generation.
pub(crate) struct Added {
    pub(crate) what: Share,
    pub(crate) generation: u64,
    pub(crate) who: ReporterId,
    pub(crate) number: u64,
}

impl Journal {
    /// Calls `visit` with each.
    pub(crate) fn each_share(&self, mut visit: impl FnMut(Added)) -> Result<(), JournalError> {
        for (what, prefix) in PREFIXES {
            for item in self.meta.prefix(prefix) {
                let (key, value) = item.into_inner()?;
                let (generation, who) = key[prefix.len()..].split_first_chunk::<8>().ok_or_else(odd_row)?;
                let who = ReporterId(u32::from_be_bytes(who.try_into().map_err(|_| odd_row())?));
                let number = u64::from_be_bytes(value.as_ref().try_into().map_err(|_| odd_row())?);
                visit(Added { what, generation: u64::from_be_bytes(*generation), who, number });
            }
        }
        Ok(())
    }

    /// What each has added since a generation began. Before it nothing counts.
    pub(crate) fn shares(&self, since: u64) -> Result<Shares<(ReporterId, Share)>, JournalError> {
        let mut shares = Shares::default();
        self.each_share(|added| {
            if added.generation >= since {
                shares.add(added.generation, (added.who, added.what), added.number);
            }
        })?;
        Ok(shares)
    }

    /// Signatures that only opinions of no weight are about, since a generation began, and the newest
    /// generation of each.
    pub(crate) fn weightless_since(&self, since: u64) -> Result<HashMap<Hash128, u64>, JournalError> {
        let mut newest = HashMap::new();
        self.each_weightless(since..u64::MAX, |generation, hash| {
            newest.insert(hash, generation);
        })?;
        Ok(newest)
    }

    /// Calls `visit` with every signature that only opinions of no weight are about, in these generations, and
    /// the generation of one.
    fn each_weightless(
        &self,
        generations: Range<u64>,
        mut visit: impl FnMut(u64, Hash128),
    ) -> Result<(), JournalError> {
        let Range { start, end } = generations;
        for item in self.weightless.range(start.to_be_bytes()..end.to_be_bytes()) {
            let key = item.key()?;
            let (generation, hash) = key.split_first_chunk::<8>().ok_or_else(odd_row)?;
            let hash: [u8; 16] = hash.try_into().map_err(|_| odd_row())?;
            visit(u64::from_be_bytes(*generation), hash_of(hash));
        }
        Ok(())
    }
}

impl JournalBatch<'_> {
    pub(crate) fn weightless(&mut self, generation: u64, hash: Hash128) {
        self.batch.insert(&self.journal.weightless, bulk_key(generation, hash, 0), []);
    }

    /// Deletes the signatures of opinions of no weight from before a generation.
    pub(crate) fn forget_weightless(&mut self, before: u64) -> Result<(), JournalError> {
        let journal = self.journal;
        journal.each_weightless(0..before, |generation, hash| {
            self.batch.remove(&journal.weightless, bulk_key(generation, hash, 0));
        })
    }

    /// Notes what somebody has added in a generation by now.
    pub(crate) fn share(&mut self, added: &Added) {
        if let Some(key) = key(added.what, added.generation, added.who) {
            self.batch.insert(&self.journal.meta, key, added.number.to_be_bytes());
        }
    }

    pub(crate) fn remove_share(&mut self, added: &Added) {
        if let Some(key) = key(added.what, added.generation, added.who) {
            self.batch.remove(&self.journal.meta, key);
        }
    }
}
