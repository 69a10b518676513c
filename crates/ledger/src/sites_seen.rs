//! Seen counts as the link between sites needs them: what is told to others, and what others told.

use zeroize::Zeroizing;

use crate::error::WriteError;
use crate::ledger::Ledger;
use crate::lives::LifeChange;
use crate::record::RecordId;
use crate::seen::NoCells;
use crate::terms::{Counts, Terms};
use crate::writer::Job;

/// Cells of an earlier life of this folder, which was told to the network that it still belongs to.
#[derive(Debug)]
pub struct FrozenCells {
    /// Which life.
    pub incarnation: u64,
    /// The generation they count.
    pub generation: u64,
    /// The last gain in them.
    pub sequence: u64,
    /// The cells.
    pub counts: Counts,
}

impl Ledger {
    /// What the site signs with. Whoever has it is the site.
    pub fn site_secret(&self) -> Zeroizing<[u8; 32]> {
        self.shared.identity().site_secret()
    }

    /// The network that the present life is told to, by its admin's key.
    pub fn network(&self) -> Option<[u8; 32]> {
        self.shared.identity().incarnation().network
    }

    /// The present life of the folder.
    pub fn incarnation(&self) -> u64 {
        self.shared.identity().incarnation().id
    }

    /// The lives that were told to the present network, oldest first, each with the number of its records. The present
    /// one is the last; of a private one there are none.
    pub fn lives(&self) -> Vec<(u64, u64)> {
        let identity = self.shared.identity();
        let last = self.shared.last.load(std::sync::atomic::Ordering::Relaxed);
        let Some(network) = identity.incarnation().network else {
            return Vec::new();
        };
        let told = identity.incarnations().iter().filter(|life| life.network == Some(network));
        told.map(|life| (life.id, (life.last.unwrap_or(last) + 1).saturating_sub(life.first))).collect()
    }

    /// The life that tells a network of a record, and the record's sequence in it; `None` where none does.
    pub fn sequence_of(&self, id: RecordId) -> Option<(u64, u64)> {
        let identity = self.shared.identity();
        let network = identity.incarnation().network?;
        let life = identity.life(identity.incarnation_of(id.number))?;
        let is_own = self.shared.record_id(id.number).site == id.site;
        (is_own && life.network == Some(network)).then(|| (life.id, id.number + 1 - life.first))
    }

    /// The present generation.
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// Generations whose own cells are told to the network, and the last journalled gain of each.
    pub fn shared_generations(&self) -> Vec<(u64, u64)> {
        self.shared.memory.seen.shared_generations()
    }

    /// Gains of own cells in the present life, consecutive from `after` + 1 on: at least one if there is one, then as
    /// many as have `bytes_max` bytes together. None where they are forgotten, because snapshots have them.
    pub fn gains(&self, generation: u64, after: u64, bytes_max: usize) -> Result<Vec<Vec<u8>>, WriteError> {
        let incarnation = self.incarnation();
        let known = self.shared_generations().into_iter().find(|(number, _)| *number == generation);
        let Some((_, last)) = known else {
            return Ok(Vec::new());
        };
        let failed = |why: String| WriteError::Journal(why);
        let journal = self.shared.journal().ok_or_else(|| failed("it is being opened".into()))?;
        let gains = journal.deltas_after((incarnation, generation), (after, last), bytes_max);
        gains.map_err(|error| failed(error.to_string()))
    }

    /// Calls `look` with own cells of a generation as the last journalled gain left them, and its number; `None` where
    /// none are told to the network. Nothing is journalled meanwhile, so `look` must be quick.
    pub fn own_cells<T>(&self, generation: u64, look: impl FnOnce(&Counts, u64) -> T) -> Option<T> {
        self.shared.memory.seen.look(generation, look)
    }

    /// Makes the present life one of a network, under these terms by first generation; durable when it returns. A life
    /// of another network, or a private one, ends: what it counted stays counted here, under its own hash key, and is
    /// told to nobody. Of the same network, terms may be added for generations that have not begun; terms that would
    /// change one that is counted are refused.
    pub fn agree(&self, network: [u8; 32], terms: &[(u64, Terms)]) -> Result<(), WriteError> {
        self.change_life(LifeChange::Agree { network, terms: terms.to_vec() })
    }

    /// Ends a shared life; the next one is private. Durable when it returns.
    pub fn leave(&self) -> Result<(), WriteError> {
        self.change_life(LifeChange::Leave)
    }

    /// Journals what is counted and begins a new life of the same network; durable when it returns. Records of the
    /// present one after a sequence belong to the new one, and so do all own cells of the present generation: others
    /// may hold them under the old life as well, so counts are too high by that, never too low. Cells of older
    /// generations are [frozen](Self::frozen_cells).
    pub fn renew(&self, after: u64) -> Result<(), WriteError> {
        self.change_life(LifeChange::Renew { after })
    }

    fn change_life(&self, change: LifeChange) -> Result<(), WriteError> {
        self.ask_and_wait(|reply| Job::ChangeLife(change, reply))
    }

    /// Copies of the cells of earlier lives of the present network. They count here until they are
    /// [dropped](Self::drop_frozen), or their generation is too old.
    pub fn frozen_cells(&self) -> Result<Vec<FrozenCells>, WriteError> {
        let told: Vec<u64> = self.lives().into_iter().map(|(incarnation, _)| incarnation).collect();
        let parts = self.shared.memory.seen.frozen().into_iter();
        let parts = parts.filter(|part| part.is_shared && told.contains(&part.incarnation));
        let copy = |part: crate::seen::FrozenPart| {
            let counts = part.counts.snapshot().map_err(|error| WriteError::Cells(error.to_string()))?;
            let (incarnation, generation, sequence) = (part.incarnation, part.generation, part.sequence);
            Ok(FrozenCells { incarnation, generation, sequence, counts })
        };
        parts.map(copy).collect()
    }

    /// Counts the cells of an earlier shared life no longer: they are among [others'](Self::put_others) now. A restart
    /// may bring them back; whoever has taken them over drops them again.
    pub fn drop_frozen(&self, incarnation: u64, generation: u64) {
        self.shared.memory.seen.drop_frozen(incarnation, generation);
    }

    /// Cells of a generation's terms in the present life, with nothing counted.
    pub fn empty_cells(&self, generation: u64) -> Result<Counts, WriteError> {
        self.shared.memory.seen.empty(generation).map_err(no_cells)
    }

    /// What a cell of others holds; 0 where there is none.
    pub fn others_cell(&self, generation: u64, cell: u64) -> u64 {
        self.shared.memory.seen.others_cell(generation, cell)
    }

    /// Raises others' cells, each by an amount. They are in memory only: whoever keeps them puts them again after a
    /// start. Nothing happens to a generation that is too old.
    pub fn raise_others(&self, generation: u64, gains: &[(u64, u64)]) -> Result<(), WriteError> {
        self.shared.memory.seen.raise_others(generation, gains).map_err(no_cells)
    }

    /// Puts others' cells as a whole, or takes them away.
    pub fn put_others(&self, generation: u64, counts: Option<Counts>) -> Result<(), WriteError> {
        self.shared.memory.seen.put_others(generation, counts).map_err(no_cells)
    }
}

fn no_cells(error: NoCells) -> WriteError {
    WriteError::Cells(error.to_string())
}
