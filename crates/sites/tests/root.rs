//! Roots and chains: a change of anything is another root, and only what is there can be proved.

mod made;

use made::{flips, page_of, site};
use proptest::prelude::*;
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::root::{
    NoSuchPage, PAGES_MAX, PageError, PageOfCells, Path, PathError, Tree, decode_cells, leaf,
};

/// Pages that all differ.
fn pages(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|page| format!("page {page}").into_bytes()).collect()
}

fn tree(pages: &[Vec<u8>]) -> Tree {
    Tree::of(pages.iter().map(|page| leaf(page)))
}

/// The definition, by recursion instead of levels: the left part is the largest power of two that leaves something.
fn naive_top(leaves: &[Digest]) -> Digest {
    if let [lone] = leaves {
        return *lone;
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let mut hasher = blake3::Hasher::new_keyed(b"seenit node of pages v1         ");
    hasher.update(&naive_top(left).0).update(&naive_top(right).0);
    Digest(*hasher.finalize().as_bytes())
}

fn naive_root(leaves: &[Digest]) -> Digest {
    let mut hasher = blake3::Hasher::new_keyed(b"seenit root of pages v1         ");
    hasher.update(&(leaves.len() as u64).to_le_bytes());
    if !leaves.is_empty() {
        hasher.update(&naive_top(leaves).0);
    }
    Digest(*hasher.finalize().as_bytes())
}

#[test]
fn a_root_is_what_its_definition_says() {
    for count in 0..70 {
        let leaves: Vec<Digest> = pages(count).iter().map(|page| leaf(page)).collect();
        assert_eq!(Tree::of(leaves.clone()).root(), naive_root(&leaves), "{count} pages");
    }
}

#[test]
fn every_page_is_proved_and_by_its_own_path_alone() {
    for count in 1..20 {
        let pages = pages(count);
        let tree = tree(&pages);
        for (at, page) in pages.iter().enumerate() {
            let path = tree.path(at as u64).expect("a page");
            assert_eq!((path.page(), path.pages()), (at as u64, count as u64));
            for (other_at, other) in pages.iter().enumerate() {
                assert_eq!(path.leads_to(&tree.root(), other), at == other_at, "{at}, {other_at} of {count}");
            }
            let longer = [page.as_slice(), b"!"].concat();
            assert!(!path.leads_to(&tree.root(), &longer));
        }
        assert_eq!(tree.path(count as u64), None);
        assert_eq!(tree.path(u64::MAX), None);
    }
}

/// A page of two digests is no node, and a node is no page.
#[test]
fn pages_and_nodes_are_not_mistaken_for_each_other() {
    let leaves = [leaf(b"left"), leaf(b"right")];
    let joined = [leaves[0].0, leaves[1].0].concat();
    assert_ne!(Tree::of([leaf(&joined)]).root(), Tree::of(leaves).root());
    assert_ne!(Tree::of([]).root(), Tree::of([leaf(b"")]).root());
}

proptest! {
    #[test]
    fn changed_pages_lead_where_all_pages_lead(
        count in 1..200_usize,
        rounds in proptest::collection::vec(proptest::collection::vec((any::<usize>(), any::<u8>()), 0..20), 1..4),
    ) {
        let mut pages = pages(count);
        let mut kept = tree(&pages);
        for changes in rounds {
            let changes: Vec<_> = changes.into_iter().map(|(at, byte)| (at % count, vec![byte])).collect();
            let leaves: Vec<_> = changes.iter().map(|(at, page)| (*at as u64, leaf(page))).collect();
            changes.into_iter().for_each(|(at, page)| pages[at] = page);
            kept.update(&leaves).expect("pages that are there");
            prop_assert_eq!(&kept, &tree(&pages));
            prop_assert_eq!(kept.root(), tree(&pages).root());
        }
    }

    #[test]
    fn paths_that_are_read_are_those_that_were_written(count in 1..300_u64, at: u64) {
        let at = at % count;
        let path = tree(&pages(count as usize)).path(at).expect("a page");
        let mut bytes = Vec::new();
        path.encode(&mut bytes);
        prop_assert_eq!(Path::decode(&bytes), Ok(path));
        prop_assert!(Path::decode(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(0);
        prop_assert!(Path::decode(&bytes).is_err());
    }

    #[test]
    fn any_bytes_are_a_path_or_an_error(
        page in 0..40_u64,
        pages in 0..40_u64,
        rest in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [&page.to_le_bytes(), &pages.to_le_bytes(), rest.as_slice()].concat();
        let _ = Path::decode(&rest);
        if let Ok(path) = Path::decode(&bytes) {
            let mut again = Vec::new();
            path.encode(&mut again);
            prop_assert_eq!(again, bytes);
            prop_assert!(!path.leads_to(&Digest([0; 32]), b"a page"));
        }
    }

    #[test]
    fn pages_of_cells_are_read_as_they_were_written(
        // Of any size, and often zero.
        values in proptest::collection::vec(
            (0..=80_u32, any::<u64>()).prop_map(|(bits, value)| value.checked_shr(bits).unwrap_or(0)),
            0..300,
        ),
    ) {
        let page = page_of(&values);
        let mut written = PageOfCells::default();
        (0..).zip(&values).for_each(|(cell, value)| written.put(cell, *value));
        prop_assert_eq!(&written.into_bytes(), &page);
        prop_assert_eq!(decode_cells(&page, values.len()), Ok(values.clone()));
        let last = values.iter().rposition(|value| *value > 0).map_or(0, |last| last + 1);
        prop_assert_eq!(decode_cells(&page, last), Ok(values[..last].to_vec()));
        prop_assert!(last == 0 || decode_cells(&page, last - 1).is_err());
    }

    #[test]
    fn any_bytes_are_a_page_of_one_form_or_an_error(page: Vec<u8>, cells in 0..1000_usize) {
        if let Ok(values) = decode_cells(&page, cells) {
            prop_assert_eq!(&page_of(&values), &page);
        }
    }

    #[test]
    fn a_chain_is_another_after_any_change(
        records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..10),
        at: prop::sample::Index,
    ) {
        let begin = Chain::begin(&site(1).public(), 17);
        let of = |records: &[Vec<u8>]| records.iter().fold(begin, |chain, record| chain.then(record));
        let whole = of(&records);
        prop_assert_eq!(whole.records(), records.len() as u64);
        let at = at.index(records.len());
        // The records between two links are proved by them.
        let between = of(&records[..at]);
        let resumed = Chain::resume(between.records(), between.link());
        prop_assert_eq!(records[at..].iter().fold(resumed, |chain, record| chain.then(record)), whole);
        let mut other = records.clone();
        other[at].push(0);
        prop_assert_ne!(of(&other).link(), whole.link());
        other.remove(at);
        prop_assert_ne!(of(&other).link(), whole.link());
    }
}

#[test]
fn any_flipped_bit_of_a_path_proves_nothing() {
    let pages = pages(11);
    let tree = tree(&pages);
    let mut bytes = Vec::new();
    tree.path(6).expect("a page").encode(&mut bytes);
    for (bit, flipped) in flips(&bytes) {
        let proves = Path::decode(&flipped).is_ok_and(|path| path.leads_to(&tree.root(), &pages[6]));
        assert!(!proves, "bit {bit}");
    }
}

#[test]
fn an_update_of_a_page_that_is_not_there_changes_nothing() {
    let mut tree = tree(&pages(5));
    let before = tree.clone();
    let refused = tree.update(&[(0, leaf(b"new")), (5, leaf(b"new"))]);
    assert_eq!(refused, Err(NoSuchPage { page: 5, pages: 5 }));
    assert_eq!(tree, before);
}

#[test]
fn a_path_among_more_pages_than_there_can_be_is_refused() {
    let bytes = |page: u64, pages: u64| [page.to_le_bytes(), pages.to_le_bytes()].concat();
    assert_eq!(Path::decode(&bytes(0, PAGES_MAX + 1)), Err(PathError::Pages(PAGES_MAX + 1)));
    assert_eq!(Path::decode(&bytes(3, 3)), Err(NoSuchPage { page: 3, pages: 3 }.into()));
    assert!(Path::decode(&bytes(0, 1)).is_ok(), "one page alone is its own top");
}

#[test]
fn logs_of_two_sites_or_lives_never_share_a_link() {
    let (one, other) = (Chain::begin(&site(1).public(), 1), Chain::begin(&site(2).public(), 1));
    let later = Chain::begin(&site(1).public(), 2);
    let links =
        [one, other, later, one.then(b"x"), other.then(b"x"), later.then(b"x")].map(|chain| chain.link());
    let distinct: std::collections::HashSet<_> = links.iter().collect();
    assert_eq!(distinct.len(), links.len());
}

#[test]
fn cells_out_of_order_and_zeros_are_left_out() {
    let mut page = PageOfCells::default();
    for (cell, value) in [(1, 300), (1, 7), (0, 7), (2, 0), (3, 5)] {
        page.put(cell, value);
    }
    assert_eq!(page.into_bytes(), page_of(&[0, 300, 0, 5]));
}

#[test]
fn pages_of_cells_have_one_form() {
    assert_eq!(page_of(&[0; 8192]), b"", "nothing costs nothing");
    assert_eq!(page_of(&[0, 127, 128, 0, 0, u64::MAX]).len(), 2 + 3 + 11);
    let top = page_of(&[u64::MAX]);
    assert_eq!(decode_cells(&top, 1), Ok(vec![u64::MAX]));
    let beyond = [&top[..10], &[3]].concat();
    for page in [&[0x80, 0, 1][..], &[0, 0x81, 0x80, 0], &[0], &[0, 0x80], &[0, 0], &beyond] {
        assert_eq!(decode_cells(page, 1), Err(PageError::Number(0)), "{page:?}");
    }
    let no_cell = |from, zeros| Err(PageError::Beyond { cells: 3, from, zeros });
    assert_eq!(decode_cells(&[3, 1], 3), no_cell(0, 3));
    assert_eq!(decode_cells(&[1, 9, 0, 9, 0, 9], 3), no_cell(3, 0));
    assert_eq!(decode_cells(&[0, 9, 127, 9], 3), no_cell(1, 127));
}
