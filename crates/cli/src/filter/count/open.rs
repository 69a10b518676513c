//! A counting filter file, whatever its rule and its storage.

use std::path::Path;

use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule, RuleName};
use seenit_filter::file::{FileKind, FileView, StoredCells};
use seenit_filter::{AnyLayout, FormatError, HugePages};

use crate::problem::Problem;

/// Work on a counting filter whose types are known at run time only.
pub(super) trait Work {
    type Done;
    fn on<R: Rule, C: StoredCells>(self, counts: &CountingFilter<R, AnyLayout, C>) -> Self::Done;
}

/// Does `work` on the counting filter in a checked file: packed cells in place, split ones as a copy.
pub(super) fn open<W: Work>(path: &Path, view: &FileView<'_>, work: W) -> Result<W::Done, Problem> {
    match view.header().kind.rule() {
        Some(RuleName::Intuitive) => with_rule::<Intuitive, W>(view, work),
        Some(RuleName::Refined) => with_rule::<Refined, W>(view, work),
        None => {
            let found = view.header().kind.as_str();
            Err(FormatError::OtherKind { found, wanted: "a counting filter" })
        }
    }
    .map_err(Problem::format(path))
}

fn with_rule<R: Rule, W: Work>(view: &FileView<'_>, work: W) -> Result<W::Done, FormatError> {
    Ok(match view.header().kind {
        FileKind::Split { .. } => work.on(&view.to_split::<R>(HugePages::Default)?),
        _ => work.on(&view.packed::<R>()?),
    })
}
