//! All words of a table as they were at one moment, read while writers go on.
//!
//! The reader goes through the slots page by page, under the writers' lock for the time of one page. A writer that
//! changes a slot the reader has yet to come to leaves there what it held before, once.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, PoisonError};

use super::Table;
use crate::memory::PAGE_WORDS;

/// What only the holder of the writers' lock may touch.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// While somebody reads all words.
    reading: Option<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    /// How many slots have been read.
    done: usize,
    /// What slots held that were changed since and have not been read: at most one entry a slot.
    before: BTreeMap<usize, u64>,
}

impl Writer {
    /// Must be told of every change before it is made.
    #[inline(always)]
    pub(super) fn keep(&mut self, slot: usize, word: u64) {
        if let Some(reading) = &mut self.reading
            && slot >= reading.done
        {
            reading.before.entry(slot).or_insert(word);
        }
    }
}

/// The words of a [`Table`]: see [`Table::words`].
#[derive(Debug)]
pub struct TableWords<'a> {
    table: &'a Table,
    /// The page being handed out, and the place in it.
    page: [u64; PAGE_WORDS],
    next: usize,
    /// One reader at a time.
    _turn: MutexGuard<'a, ()>,
}

impl<'a> TableWords<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        let turn = table.turn.lock().unwrap_or_else(PoisonError::into_inner);
        table.writer().reading = Some(Reading::default());
        TableWords { table, page: [0; PAGE_WORDS], next: 0, _turn: turn }
    }

    fn read_page(&mut self) {
        let start = self.next;
        let end = self.next + PAGE_WORDS;
        let mut writer = self.table.writer();
        let words = &self.table.pages.words()[start..end];
        self.page.iter_mut().zip(words).for_each(|(copy, word)| *copy = word.load(Relaxed));
        let reading = writer.reading.as_mut().expect("it ends with this reader");
        reading.done = end;
        let later = reading.before.split_off(&end);
        for (slot, word) in std::mem::replace(&mut reading.before, later) {
            self.page[slot - start] = word;
        }
    }
}

impl Iterator for TableWords<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next == self.table.pages.words().len() {
            return None;
        }
        if self.next.is_multiple_of(PAGE_WORDS) {
            self.read_page();
        }
        let word = self.page[self.next % PAGE_WORDS];
        self.next += 1;
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.table.pages.words().len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for TableWords<'_> {}

impl Drop for TableWords<'_> {
    fn drop(&mut self) {
        self.table.writer().reading = None;
    }
}
