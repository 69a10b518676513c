//! Manifests of a network: the first one, those sealed again to a newcomer, and those with a new hash key.

use std::collections::BTreeMap;

use seenit_ledger::{Clock, SystemClock};
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::number::Generation;
use seenit_sites::roster::Roster;

use super::folder::{Folder, random};
use crate::problem::Problem;

/// Generations of which a newcomer may still need the hash key.
const GENERATIONS_KEPT: u64 = 31;

/// How long before a generation a new key for it is signed at least: it must be everywhere by then.
const AHEAD_SECS: u64 = 600;

/// Signs the first roster, with nobody in it, and the first manifest.
pub(super) fn begin(folder: &Folder, generation_secs: u64) -> Result<(), Problem> {
    let terms = ManifestTerms { first_generation: Generation(0), generation_secs };
    let roster = folder.sign_roster(1, Vec::new())?;
    folder.add_manifest(terms, &roster, &HashKey::from_bytes(random()?))?;
    folder.keep_roster(&roster)
}

/// Signs all terms that are of use to a newcomer once more, under new numbers, sealed to everybody.
pub(super) fn seal_again(folder: &Folder, roster: &Roster) -> Result<(), Problem> {
    for manifest in running(folder)? {
        folder.add_manifest(manifest.terms, roster, &folder.hash_key(&manifest)?)?;
    }
    Ok(())
}

/// Signs the same terms with a new hash key, from the next generation on.
pub(super) fn change_key(folder: &Folder, roster: &Roster) -> Result<(), Problem> {
    let running = running(folder)?;
    let last = running.last().ok_or_else(|| Problem::Refused("there is no manifest".to_owned()))?;
    let terms = last.terms;
    let next = (SystemClock::default().now_secs() + AHEAD_SECS) / terms.generation_secs + 1;
    let terms = ManifestTerms { first_generation: Generation(next).max(terms.first_generation), ..terms };
    folder.add_manifest(terms, roster, &HashKey::from_bytes(random()?)).map(drop)
}

/// The manifests that hold, now, before or later, as far as it matters: by their first generation.
fn running(folder: &Folder) -> Result<Vec<Manifest>, Problem> {
    let manifests = folder.manifests()?;
    // Later numbers come later, and replace earlier ones of the same first generation.
    let newest = manifests.into_iter().map(|manifest| (manifest.terms.first_generation, manifest));
    let newest: Vec<Manifest> = newest.collect::<BTreeMap<_, _>>().into_values().collect();
    let now_secs = SystemClock::default().now_secs();
    let is_over = |next: &Manifest| {
        let ManifestTerms { first_generation, generation_secs } = next.terms;
        first_generation.0 + GENERATIONS_KEPT < now_secs / generation_secs
    };
    let over = newest.iter().skip(1).take_while(|next| is_over(next)).count();
    Ok(newest.into_iter().skip(over).collect())
}
