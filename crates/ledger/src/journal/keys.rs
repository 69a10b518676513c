//! All rows of a key together, key by key: the rows of all generations, merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use seenit_filter::hash::Hash128;

use super::{Journal, JournalError, KeyRow, Row, decode_row, hash_bytes, odd_row, split_row_key};
use crate::reporter::ReporterId;

impl Journal {
    /// Calls `visit` with every key, and with all rows on it of the generations that count, newest generation first.
    pub(crate) fn each_key(
        &self,
        visit: impl FnMut(Hash128, &[KeyRow]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        self.each_key_in(self.live(), visit)
    }

    /// The same of these generations, the newest first.
    pub(crate) fn each_key_in(
        &self,
        generations: Vec<u64>,
        mut visit: impl FnMut(Hash128, &[KeyRow]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut sources: Vec<(u64, fjall::Iter)> = {
            let keyspaces = self.read();
            let index = |number: u64| Some((number, keyspaces.get(&number)?.index.iter()));
            generations.into_iter().filter_map(index).collect()
        };
        let mut waiting = BinaryHeap::new();
        let mut next_rows: Vec<Option<(Hash128, ReporterId, Row)>> = Vec::new();
        for (source, (_, iter)) in sources.iter_mut().enumerate() {
            let row = next_row(iter)?;
            waiting.extend(row.map(|(hash, ..)| Reverse((hash_bytes(hash), source))));
            next_rows.push(row);
        }
        let mut rows: Vec<KeyRow> = Vec::new();
        let mut last = None;
        while let Some(Reverse((_, source))) = waiting.pop() {
            let (generation, iter) = &mut sources[source];
            let Some((hash, reporter, row)) = next_rows[source].take() else {
                continue;
            };
            if let Some(last) = last.replace(hash).filter(|last| *last != hash) {
                visit(last, &rows)?;
                rows.clear();
            }
            rows.push(KeyRow { generation: *generation, reporter, row });
            next_rows[source] = next_row(iter)?;
            waiting.extend(next_rows[source].map(|(hash, ..)| Reverse((hash_bytes(hash), source))));
        }
        last.map_or(Ok(()), |last| visit(last, &rows))
    }
}

fn next_row(iter: &mut fjall::Iter) -> Result<Option<(Hash128, ReporterId, Row)>, JournalError> {
    let Some(item) = iter.next() else {
        return Ok(None);
    };
    let (key, value) = item.into_inner()?;
    let (hash, reporter) = split_row_key(&key).ok_or_else(odd_row)?;
    Ok(Some((hash, reporter, decode_row(&value)?)))
}
