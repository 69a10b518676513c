//! How far the lab is, and how long it will take: one bar after the other on standard error.

use std::sync::{Mutex, PoisonError};

use crate::progress::Progress;

/// The bar of the present step; experiments advance it from any thread.
pub(super) struct LabProgress(Mutex<Option<Progress>>);

impl LabProgress {
    pub(super) fn new() -> Self {
        LabProgress(Mutex::new(None))
    }
}

impl seenit_lab::Progress for LabProgress {
    fn begin(&self, what: &str, units: u64) {
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The old bar goes before the new one comes.
        bar.take();
        *bar = Some(Progress::new(what.to_owned(), Some(units)));
    }

    fn advance(&self, units: u64) {
        if let Some(bar) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            bar.advance(units);
        }
    }
}
