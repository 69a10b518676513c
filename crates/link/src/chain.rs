//! Values of own chains: how a store finds one from the nearest that is kept.

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::StreamId;
use seenit_sites::number::Sequence;

/// The chain of a stream after `items`, which follow on the checkpoint, or on the stream's beginning where there is
/// none.
pub fn chain_at<I: AsRef<[u8]>>(
    id: &StreamId,
    checkpoint: Option<(Sequence, Digest)>,
    items: impl IntoIterator<Item = I>,
) -> Chain {
    let start =
        checkpoint.map_or_else(|| Chain::begin(id), |(sequence, value)| Chain::resume(sequence, value));
    items.into_iter().fold(start, |chain, item| chain.then(item.as_ref()))
}
