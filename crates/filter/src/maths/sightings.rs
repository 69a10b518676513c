//! Chances and sizes of the indexes of sightings: see [`sightings`](crate::sightings).

use crate::sightings::Fingerprint;

/// How many parts of a fingerprint a slot may have: 23 bits, of which 0 stands for none.
const PARTS: f64 = ((1u64 << 23) - 1) as f64;

/// The chance that an absent key meets a slot with its part: it is compared with the slots of two lines, of which
/// `per_line` each are in question, and each has its part with probability `1 / (2^23 - 1)`. Or its fingerprint is
/// that of one of the `signatures` held.
pub(crate) fn table_rate(signatures: u64, per_line: f64) -> f64 {
    1.0 - (1.0 - 1.0 / PARTS).powf(2.0 * per_line) + same_fingerprint(signatures)
}

/// The chance that an absent key has the fingerprint of one of so many: no index can tell them apart.
pub(crate) fn same_fingerprint(signatures: u64) -> f64 {
    signatures as f64 / f64::from(Fingerprint::BITS).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use crate::sightings::{SeenIndex, SeenTable};

    /// Slots of a line.
    const LINE_SLOTS: usize = 16;

    /// The share of keys that find both their lines full, when so many keys a line were thrown, each into the emptier
    /// of two lines of 16 slots.
    ///
    /// Let `s_i` be the share of lines with at least `i` keys, and `t` the keys a line thrown so far. A key raises a
    /// line from `i - 1` to `i` when both its lines have at least `i - 1` and not both at least `i`: so
    /// `ds_i/dt = s_(i-1)^2 - s_i^2`, and it finds no room with probability `s_16^2`. That is what many lines tend to;
    /// it is integrated in small steps.
    fn refused_share(keys_per_line: f64) -> f64 {
        const STEPS: u32 = 20_000;
        let step = keys_per_line / f64::from(STEPS);
        let mut shares = [0.0; LINE_SLOTS + 1];
        shares[0] = 1.0;
        let mut refused = 0.0;
        for _ in 0..STEPS {
            // The midpoint rule: the slope half a step ahead.
            let half = ahead(&shares, &shares, step / 2.0);
            refused += half[LINE_SLOTS].powi(2) * step;
            shares = ahead(&shares, &half, step);
        }
        if keys_per_line > 0.0 { refused / keys_per_line } else { 0.0 }
    }

    /// `shares` a step later, if they change as those of `slope` do.
    fn ahead(
        shares: &[f64; LINE_SLOTS + 1],
        slope: &[f64; LINE_SLOTS + 1],
        step: f64,
    ) -> [f64; LINE_SLOTS + 1] {
        let mut later = *shares;
        for i in 1..=LINE_SLOTS {
            later[i] += step * (slope[i - 1].powi(2) - slope[i].powi(2));
        }
        later
    }

    /// Keys refused by tables of many loads, against the fluid limit. The refused are sums of nearly independent
    /// events; their variance is a little more than their number, since full lines come in pairs.
    #[test]
    fn keys_find_no_room_as_often_as_the_limit_says() {
        let lines = 32_000u32;
        let mut rng = SplitMix(6);
        let capacity = (f64::from(lines) * LINE_SLOTS as f64 * 0.9) as u64;
        let table = SeenTable::new(capacity).expect("2 MB");
        let mut held = 0;
        for percent in [50, 80, 85, 90, 95, 99, 105, 110] {
            let keys = u64::from(lines) * LINE_SLOTS as u64 * percent / 100;
            (held..keys).for_each(|_| _ = table.add(Fingerprint::of(rng.hash()), 1));
            held = keys;
            let expected = refused_share(keys as f64 / f64::from(lines)) * keys as f64;
            let refused = table.overflowing() as f64;
            let error = 4.5 * (2.0 * expected + 1.0).sqrt() + 0.01 * expected;
            println!("{percent} %: {refused} of {expected:.1} in {keys}");
            assert!((refused - expected).abs() < error, "{percent}: {refused}, not {expected}");
        }
    }

    #[test]
    fn rates_known_by_heart() {
        assert!((table_rate(0, 14.4) - 28.8 / 8_388_607.0).abs() < 1e-10);
        assert!((same_fingerprint(1 << 24) - (-20f64).exp2()).abs() < 1e-12);
        assert_eq!((refused_share(0.0), table_rate(0, 0.0)), (0.0, 0.0));
        assert!((refused_share(32.0) - 0.5).abs() < 0.01, "{}", refused_share(32.0));
    }
}
