//! The kinds of deltas in the race, and one lap of each.

use std::error::Error;

use seenit_filter::HugePages;
use seenit_filter::delta::{
    Applied, BitGain, CountGain, Diff, ENVELOPE_BYTES, Follower, bound_of_bits, bound_of_cells, cells,
};
use seenit_filter::file::FileView;

use super::inputs;
use crate::contender::clock;

/// What one lap gave.
pub(crate) struct Lap {
    /// Without the envelope.
    pub(crate) bytes: u64,
    pub(crate) entropy_bytes: u64,
    pub(crate) encode_secs: f64,
    pub(crate) decode_secs: f64,
}

type Outcome = Result<Lap, Box<dyn Error>>;

/// A name, and one lap over a filter of so many bytes at a rate of change.
pub(crate) type Subject = (&'static str, fn(u64, f64) -> Outcome);

pub(crate) const SUBJECTS: [Subject; 5] = [
    ("bits-gain", bits_gain),
    ("bits-diff", bits_diff),
    ("cells4-gain", |bytes, rate| cells_gain(4, bytes, rate)),
    ("cells8-gain", |bytes, rate| cells_gain(8, bytes, rate)),
    ("cells8-diff", |bytes, rate| cells_diff(8, bytes, rate)),
];

fn bits_gain(bytes: u64, rate: f64) -> Outcome {
    let (old, new) = inputs::bits(bytes, rate, |_| true)?;
    let old = FileView::open(&old)?;
    let new = FileView::open(&new)?;
    let mut old = old.to_filter(HugePages::Default)?;
    let new = new.to_filter(HugePages::Default)?;
    let bound = bound_of_bits(&old, &new)?;
    let (gain, encode) = clock(|| BitGain::between(&old, &new));
    let gain = gain?;
    let (applied, decode) = clock(|| BitGain::open(gain.bytes())?.apply(&mut old));
    check(applied? == Applied::Now && old.words() == new.words())?;
    Ok(Lap {
        bytes: (gain.bytes().len() - ENVELOPE_BYTES) as u64,
        entropy_bytes: bound.bytes(),
        encode_secs: encode.as_secs_f64(),
        decode_secs: decode.as_secs_f64(),
    })
}

fn bits_diff(bytes: u64, rate: f64) -> Outcome {
    let (old, new) = inputs::bits(bytes, rate, |bit| !bit)?;
    let from = FileView::open(&old)?;
    let to = FileView::open(&new)?;
    let bound = bound_of_bits(&from.filter()?, &to.filter()?)?;
    let (diff, encode) = clock(|| Diff::between(&from, &to));
    let diff = diff?;
    let (made, decode) = clock(|| Diff::open(diff.bytes())?.apply(&from));
    let mut written = Vec::with_capacity(new.len());
    made?.write(&mut written)?;
    check(written == new)?;
    Ok(Lap {
        bytes: (diff.bytes().len() - ENVELOPE_BYTES) as u64,
        entropy_bytes: bound.bytes(),
        encode_secs: encode.as_secs_f64(),
        decode_secs: decode.as_secs_f64(),
    })
}

fn cells_gain(bits: u32, bytes: u64, rate: f64) -> Outcome {
    let (old, new) = inputs::cells(bits, bytes, rate, false)?;
    let bound = bound_of_cells(&old, &new);
    let old = inputs::counts(old)?;
    let new = inputs::counts(new)?;
    let (gain, encode) = clock(|| CountGain::between(&old, &new, 1));
    let gain = gain?;
    let mut follower = Follower::new(old, 0);
    let (applied, decode) = clock(|| follower.apply(&CountGain::open(gain.bytes())?));
    check(applied? == Applied::Now && follower.counts().cells().words() == new.cells().words())?;
    Ok(Lap {
        bytes: (gain.bytes().len() - ENVELOPE_BYTES) as u64,
        entropy_bytes: bound.bytes(),
        encode_secs: encode.as_secs_f64(),
        decode_secs: decode.as_secs_f64(),
    })
}

/// Payloads alone: what a file of counts will put between its digests. The copy that takes the changes is in the clock.
fn cells_diff(bits: u32, bytes: u64, rate: f64) -> Outcome {
    let (old, new) = inputs::cells(bits, bytes, rate, true)?;
    let bound = bound_of_cells(&old, &new);
    let (payload, encode) = clock(|| cells::diff(&old, &new));
    let (made, decode) = clock(|| -> Result<_, Box<dyn Error>> {
        let mut copy = old.try_clone()?;
        cells::apply_diff(&mut copy, &payload)?;
        Ok(copy)
    });
    check(made?.words() == new.words())?;
    Ok(Lap {
        bytes: payload.len() as u64,
        entropy_bytes: bound.bytes(),
        encode_secs: encode.as_secs_f64(),
        decode_secs: decode.as_secs_f64(),
    })
}

/// A delta that leads elsewhere is out of the race.
fn check(right: bool) -> Result<(), Box<dyn Error>> {
    if right { Ok(()) } else { Err("the delta does not lead to the new state".into()) }
}
