//! The rows of one signature: who spoke of it before. Reading them is bounded, because anybody can be many.

use seenit_filter::hash::Hash128;

use super::Stage;
use crate::journal::{JournalError, KeyRow, Row, is_mark, row_key};
use crate::reporter::ReporterId;

/// Rows of one key that are looked at to find cases and earlier opinions: a signature that more reporters spoke of has
/// been settled long ago. As many whose opinion weighs nothing are looked at beside them.
const ROWS_MAX: usize = 64;

/// Rows of one key that are read for that, over all generations together: everybody else waits for the writer
/// meanwhile. There can be more reporters than that. So many strangers who speak of one signature hide what was said of
/// it on earlier days; fewer hide nobody.
const ROWS_READ_MAX: usize = 20_000;

impl Stage<'_> {
    /// The rows of a key, newest generation first, of this batch before any.
    pub(super) fn earlier_rows(
        &mut self,
        hash: Hash128,
        me: ReporterId,
    ) -> Result<Vec<KeyRow>, JournalError> {
        let mut rows = match self.journalled.get(&hash) {
            Some(rows) => rows.clone(),
            None => self.read_rows(hash, me)?,
        };
        for KeyRow { reporter, row, .. } in &mut rows {
            if let Some((_, newer)) = self.rows.get(&row_key(hash, *reporter)) {
                *row = *newer;
            }
        }
        Ok(rows)
    }

    /// Reads the rows of a key, once a batch: a look into the journal takes longer than all the rest.
    fn read_rows(&mut self, hash: Hash128, me: ReporterId) -> Result<Vec<KeyRow>, JournalError> {
        let mut rows = Vec::from_iter(self.lone_row(hash, me)?);
        if rows.is_empty() {
            let read = |generation, most| self.journal.rows_of(generation, hash, most);
            rows = rows_that_matter(self.journal.live(), read)?;
        }
        self.journalled.insert(hash, rows.clone());
        Ok(rows)
    }

    /// The reporter's own row, where the tally has nothing but it: all there is to read then. One row by its name is
    /// looked for in those few tables whose filters know it, all rows of a key in every table.
    fn lone_row(&self, hash: Hash128, me: ReporterId) -> Result<Option<KeyRow>, JournalError> {
        let tally = self.memory.tally(hash);
        if tally.is_saturated() || tally.spam.min(tally.ham) > 0 {
            return Ok(None);
        }
        let newest = self.journal.newest_row(&row_key(hash, me))?.filter(|(_, row)| tally.is_all_of(row));
        Ok(newest.map(|(generation, row)| KeyRow { generation, reporter: me, row }))
    }

    /// A reporter's newest row on a key before this batch, and its generation.
    pub(super) fn newest_row(
        &self,
        hash: Hash128,
        reporter: ReporterId,
    ) -> Result<Option<(u64, Row)>, JournalError> {
        match self.journalled.get(&hash).filter(|rows| rows.len() < ROWS_MAX) {
            Some(rows) => {
                let own = rows.iter().find(|one| one.reporter == reporter);
                Ok(own.map(|one| (one.generation, one.row)))
            }
            None => self.journal.newest_row(&row_key(hash, reporter)),
        }
    }
}

/// The rows of a key, newest generation first: all that weigh something of the generations it takes to find
/// [`ROWS_MAX`], and as many that weigh nothing. `read` gives up to so many rows of a generation.
fn rows_that_matter(
    generations: Vec<u64>,
    read: impl Fn(u64, usize) -> Result<Vec<KeyRow>, JournalError>,
) -> Result<Vec<KeyRow>, JournalError> {
    let mut rows = Vec::new();
    let mut weightless = 0;
    let mut budget = ROWS_READ_MAX;
    for generation in generations {
        let of_generation = read(generation, budget)?;
        budget -= of_generation.len().min(budget);
        for one in of_generation {
            let is_weightless = one.row.weight == 0 && !is_mark(one.reporter);
            if !is_weightless || weightless < ROWS_MAX {
                weightless += usize::from(is_weightless);
                rows.push(one);
            }
        }
        if rows.len() - weightless >= ROWS_MAX || budget == 0 {
            break;
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A crowd that speaks of one signature day after day would else hold the writer for seconds.
    #[test]
    fn the_rows_of_a_key_have_one_budget_over_all_generations() {
        let asked = Cell::new(0);
        let given = Cell::new(0);
        let crowd = |generation: u64, most: usize| {
            let many = most.min(9000);
            asked.set(asked.get() + 1);
            given.set(given.get() + many);
            // The last one of a day is no stranger.
            let weight = |place: usize| if place + 1 == many { 4 } else { 0 };
            let row = |place| KeyRow {
                generation,
                reporter: ReporterId(100 + place as u32),
                row: Row { weight: weight(place), ..Row::default() },
            };
            assert!(generation > 0);
            Ok((0..many).map(row).collect())
        };
        let rows = rows_that_matter((1..=30).rev().collect(), crowd).expect("read");
        assert_eq!((asked.get(), given.get()), (3, ROWS_READ_MAX));
        assert_eq!(rows.len(), ROWS_MAX + 3, "a crowd hides nobody within the budget");
    }
}
