//! The fewest bits that the gains of a site can take.

use std::collections::HashMap;
use std::error::Error;

use seenit_filter::cells::Cells;
use seenit_filter::delta::CountGain;
use seenit_filter::maths::entropy;
use seenit_ledger::ledger::Ledger;

/// Bits of all gains that a site's journal has: which cells of all changed, and by how much.
pub(crate) fn of_gains(ledger: &Ledger) -> Result<f64, Box<dyn Error>> {
    let mut bits = 0.0;
    for (generation, last) in ledger.shared_generations() {
        let (like, mut after) = (ledger.empty_cells(generation)?, 0);
        while after < last {
            let gains = ledger.gains(generation, after, 1 << 20)?;
            if gains.is_empty() {
                return Err(format!("gain {} of generation {generation} is gone", after + 1).into());
            }
            after += gains.len() as u64;
            for gain in gains {
                let mut counts: HashMap<u64, u64> = HashMap::new();
                CountGain::open(gain)?.for_each(&like, |_, by| *counts.entry(by).or_default() += 1)?;
                let changed = counts.values().sum();
                bits += entropy::log2_choose(like.cells().len(), changed);
                bits += entropy::of_counts(counts.values().copied());
            }
        }
    }
    Ok(bits)
}
