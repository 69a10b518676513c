//! Guards the one thing a Bloom filter may never do: say no to a key it holds. Ten million keys a layout.

mod common;

use common::{LAYOUTS, empty, key, sip};
use seenit_filter::AnyLayout;

const KEYS: u64 = 10_000_000;

#[test]
fn no_false_negatives_in_ten_million_keys() {
    let sip = sip(3);
    for name in LAYOUTS {
        let mut filter = empty(AnyLayout::sized(name, KEYS, 0.01).expect("sized"), &sip);
        let chunk = 1 << 20;
        let chunks =
            || (0..KEYS).step_by(chunk).map(|start| (start..KEYS.min(start + chunk as u64)).map(key));
        for keys in chunks() {
            filter.insert_many(&sip, &keys.collect::<Vec<_>>());
        }
        let mut missed = 0;
        for keys in chunks() {
            let keys: Vec<_> = keys.collect();
            let mut found = vec![false; keys.len()];
            filter.contains_many(&sip, &keys, &mut found);
            missed += found.iter().filter(|&&found| !found).count();
            missed += keys.iter().step_by(16).filter(|k| !filter.contains(sip.hash_bytes(&k[..]))).count();
        }
        assert_eq!(missed, 0, "{name:?}");
    }
}
