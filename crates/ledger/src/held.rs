//! Sightings that others signed, as they are kept in the link's rows: a base, and messages after it.
//!
//! ```text
//! b stream chunk      sequence (8 bytes, highest first): the last delta in the base; then a block of it
//! l stream sequence   a message as its site signed it: its head, then a list of deltas up to that sequence
//! ```

use std::collections::HashMap;

use seenit_filter::sightings::{Sighting, decode};
use seenit_link::rows;
use seenit_link::store::HeldStream;
use seenit_sites::message::{HEAD_BYTES, Stream};

use crate::adding::{AddedUp, AddingUp};
use crate::journal::heard::after_all;
use crate::journal::{JournalError, LinkNow};

/// Bytes that are kept of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldBytes {
    pub(crate) base: u64,
    pub(crate) messages: u64,
}

impl HeldBytes {
    /// Messages of a stream that are kept one by one before they are added up: others can be handed them meanwhile.
    const MESSAGES_MAX: u64 = 1 << 20;

    /// Whether its messages should be added up: they are many, and more than what they are added to.
    pub(crate) fn are_due(&self) -> bool {
        self.messages > Self::MESSAGES_MAX.max(self.base)
    }
}

/// Something that is kept of a stream of sightings.
pub(crate) enum Held<'a> {
    /// A block of its base, which leads to a sequence.
    Block(u64, &'a [u8]),
    /// A delta, by its sequence.
    Delta(u64, &'a [u8]),
}

/// A row of a base.
pub(crate) fn base_row(stream: &HeldStream, sequence: u64, chunk: u32, block: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let key = [rows::base(stream), chunk.to_be_bytes().to_vec()].concat();
    (key, [&sequence.to_be_bytes(), block].concat())
}

/// The streams of sightings that anything is kept of.
pub(crate) fn streams(now: &LinkNow) -> Result<Vec<HeldStream>, JournalError> {
    let mut streams = Vec::new();
    for first in [b'b', b'l'] {
        let mut from = vec![first];
        while let Some(key) = now.first(&from)?.filter(|key| key.first() == Some(&first)) {
            let Some((stream, _)) = rows::stream_of(&key) else {
                // Nothing of this release: the next key.
                from = [key, vec![0]].concat();
                continue;
            };
            let all = if first == b'b' { rows::base(&stream) } else { rows::messages(&stream) };
            if matches!(stream.stream, Stream::Sightings { .. }) {
                streams.push(stream);
            }
            let Some(next) = after_all(&all) else { break };
            from = next;
        }
    }
    streams.sort_unstable();
    streams.dedup();
    Ok(streams)
}

/// Calls `visit` with all that is kept of a stream, in order, none twice: messages may overlap.
pub(crate) fn each(
    now: &LinkNow,
    stream: &HeldStream,
    mut visit: impl FnMut(Held<'_>) -> Result<(), JournalError>,
) -> Result<HeldBytes, JournalError> {
    let mut bytes = HeldBytes::default();
    let mut at = 0;
    now.each(&rows::base(stream), |_, value| {
        let (sequence, block) = value.split_first_chunk::<8>().ok_or_else(|| odd(stream))?;
        at = u64::from_be_bytes(*sequence);
        bytes.base += value.len() as u64;
        visit(Held::Block(at, block))
    })?;
    now.each(&rows::messages(stream), |key, value| {
        let last = rows::stream_of(key).and_then(|(_, rest)| Some(u64::from_be_bytes(rest.try_into().ok()?)));
        let last = last.ok_or_else(|| odd(stream))?;
        bytes.messages += value.len() as u64;
        let items = items_of(value).ok_or_else(|| odd(stream))?;
        let first = (last + 1).saturating_sub(items.len() as u64);
        for (item, sequence) in items.into_iter().zip(first..).filter(|(_, sequence)| *sequence > at) {
            visit(Held::Delta(sequence, item))?;
        }
        at = at.max(last);
        Ok(())
    })?;
    Ok(bytes)
}

/// How much is kept of each stream.
pub(crate) fn sizes(now: &LinkNow) -> Result<HashMap<HeldStream, HeldBytes>, JournalError> {
    let of = |stream| Ok((stream, each(now, &stream, |_| Ok(()))?));
    streams(now)?.into_iter().map(of).collect()
}

/// The items of a message that was checked when it came.
fn items_of(message: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = message.get(HEAD_BYTES..)?;
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (item, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        items.push(item);
        rest = after;
    }
    Some(items)
}

/// All that is kept of a stream, added up, and the last delta in it.
pub(crate) fn added_up(now: &LinkNow, stream: &HeldStream) -> Result<(u64, AddedUp), JournalError> {
    let (last, adding) = adding(now, stream)?;
    Ok((last, adding.finish()?))
}

/// The same, before it is encoded.
pub(crate) fn adding(now: &LinkNow, stream: &HeldStream) -> Result<(u64, AddingUp), JournalError> {
    let mut adding = AddingUp::default();
    let mut blocks = Vec::new();
    let mut last = 0;
    let mut lists = Vec::new();
    each(now, stream, |held| {
        match held {
            Held::Block(sequence, block) => {
                blocks.push(block.to_vec());
                last = sequence;
            }
            Held::Delta(sequence, delta) => {
                lists.push(delta.to_vec());
                last = sequence;
            }
        }
        Ok(())
    })?;
    adding.push_base(blocks);
    for list in lists {
        let pushed = adding.push(sightings_of(stream, &list));
        pushed?;
    }
    Ok((last, adding))
}

/// The sightings of a delta or block. Its site signed it: where it cannot be read it says nothing, and others do.
pub(crate) fn sightings_of(stream: &HeldStream, bytes: &[u8]) -> Vec<Sighting> {
    decode(bytes).unwrap_or_else(|error| {
        let slot = stream.slot.0;
        let incarnation = stream.incarnation;
        tracing::warn!(slot, %incarnation, "sightings of a site are not counted: {error}");
        Vec::new()
    })
}

fn odd(stream: &HeldStream) -> JournalError {
    JournalError::Rows(
        format!("what is kept of {stream:?} is of another shape than this program writes").into(),
    )
}
