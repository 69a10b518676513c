//! Own records in the order of their numbers, over all generations that are kept.

use fjall::{Iter, Slice};

use super::{Journal, JournalError, LASTING, number_of, record_of};
use crate::record::Record;

impl Journal {
    /// Calls `visit` with own records that follow each other number by number: the first that is kept from `from` on,
    /// and those after it up to `last`, until one is missing or `visit` says false.
    pub(crate) fn run(
        &self,
        from: u64,
        last: u64,
        mut visit: impl FnMut(u64, Record) -> bool,
    ) -> Result<(), JournalError> {
        if from > last {
            return Ok(());
        }
        let (aging, lasting): (Vec<_>, Vec<_>) = {
            let generations = self.read();
            let logs = generations.iter().map(|(&number, keyspaces)| (number, keyspaces.log.clone()));
            logs.partition(|(number, _)| *number != LASTING)
        };
        // Numbers rise with the generations, but for what does not age.
        let numbered = |iter: Iter| iter.map(numbered_item);
        let range =
            move |(_, log): (u64, fjall::Keyspace)| log.range(from.to_be_bytes()..=last.to_be_bytes());
        let mut aging = aging.into_iter().map(range).flat_map(numbered).peekable();
        let mut lasting = lasting.into_iter().map(range).flat_map(numbered).peekable();
        let mut expected = None;
        loop {
            let is_lasting = match (aging.peek(), lasting.peek()) {
                (Some(Ok((aging, _))), Some(Ok((lasting, _)))) => lasting < aging,
                (None | Some(Ok(_)), Some(_)) => true,
                _ => false,
            };
            let Some(item) = (if is_lasting { lasting.next() } else { aging.next() }) else {
                return Ok(());
            };
            let (number, value) = item?;
            if expected.is_some_and(|expected| expected != number) {
                return Ok(());
            }
            if !visit(number, record_of(number, &value)?) {
                return Ok(());
            }
            expected = Some(number + 1);
        }
    }

    /// The newest record of a generation that `is_it`, among the last `most`.
    pub(crate) fn newest_record(
        &self,
        generation: u64,
        most: usize,
        mut is_it: impl FnMut(&Record) -> Result<bool, JournalError>,
    ) -> Result<Option<(u64, Record)>, JournalError> {
        let Some(keyspaces) = self.read().get(&generation).cloned() else {
            return Ok(None);
        };
        for item in keyspaces.log.iter().rev().take(most).map(numbered_item) {
            let (number, value) = item?;
            let record = record_of(number, &value)?;
            if is_it(&record)? {
                return Ok(Some((number, record)));
            }
        }
        Ok(None)
    }

    /// The first and the last number of the records of a generation; `None` where it has none.
    pub(crate) fn numbers_of(&self, generation: u64) -> Result<Option<(u64, u64)>, JournalError> {
        let Some(log) = self.read().get(&generation).map(|keyspaces| keyspaces.log.clone()) else {
            return Ok(None);
        };
        let Some((first, last)) = log.first_key_value().zip(log.last_key_value()) else {
            return Ok(None);
        };
        Ok(Some((number_of(&first.key()?)?, number_of(&last.key()?)?)))
    }

    /// The number of the first record of the generations that count, without those that do not age.
    pub(crate) fn first_number(&self) -> Result<Option<u64>, JournalError> {
        let counting = self.live();
        let generations = self.read();
        for number in counting.into_iter().rev().filter(|number| *number != LASTING) {
            let first = generations.get(&number).and_then(|keyspaces| keyspaces.log.first_key_value());
            if let Some(item) = first {
                return number_of(&item.key()?).map(Some);
            }
        }
        Ok(None)
    }
}

fn numbered_item(item: fjall::Guard) -> Result<(u64, Slice), JournalError> {
    let (key, value) = item.into_inner()?;
    Ok((number_of(&key)?, value))
}
