//! Who a site is: its signing key, its hash key, and the incarnations of its data folder.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ed25519_dalek::SigningKey;
use seenit_filter::hash::{KeyFingerprint, SipKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{Cause, OpenError};
use crate::open::JOURNAL_FOLDER;
use crate::private;
use crate::seen::{SeenKey, key_at};

const FILE: &str = "identity.json";

/// The version of a folder that was ever in a network; one that was not has version 1, as before there were networks.
const VERSION: u32 = 2;

/// A site, for good. The file is the site: who copies it is the site, too.
#[derive(Clone)]
pub(crate) struct Identity {
    signing: SigningKey,
    hash_key: Zeroizing<[u8; 16]>,
    incarnations: Vec<IncarnationSpan>,
}

/// One incarnation of the data folder, and which records are its own. Numbers of records go on from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IncarnationSpan {
    /// Seconds since the Unix epoch at its beginning, or one more than the one before.
    pub(crate) id: u64,
    /// The first number of its records.
    pub(crate) first: u64,
    /// The last one that the journal had when it ended, and that is still its own.
    pub(crate) last: Option<u64>,
    /// The highest number issued under it, where the next incarnation took records of it over.
    pub(crate) named: Option<u64>,
    /// Of each generation the last delta of sightings that is still its own: those after it are the next one's.
    pub(crate) sightings: Vec<(u64, u64)>,
    /// The network that it is published to, by its admin's key; `None` of a private one.
    pub(crate) network: Option<[u8; 32]>,
    /// The network's hash keys by the first generation they hold for.
    pub(crate) keys: Vec<(u64, SeenKey)>,
}

impl IncarnationSpan {
    /// An incarnation that is not published.
    pub(crate) fn private(id: u64, first: u64) -> Self {
        IncarnationSpan::new(id, first, None, Vec::new())
    }

    fn new(id: u64, first: u64, network: Option<[u8; 32]>, keys: Vec<(u64, SeenKey)>) -> Self {
        IncarnationSpan { id, first, last: None, named: None, sightings: Vec::new(), network, keys }
    }

    /// The network's hash key of a generation; `None` where the site's own is used.
    pub(crate) fn key_at(&self, generation: u64) -> Option<SeenKey> {
        key_at(&self.keys, generation)
    }
}

/// How an incarnation ends: see [`IncarnationSpan`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) last: u64,
    /// The number of the next record, the first of the incarnation that follows.
    pub(crate) next: u64,
    pub(crate) named: Option<u64>,
    pub(crate) sightings: Vec<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    signing_key: String,
    hash_key: String,
    incarnations: Vec<StoredIncarnation>,
}

#[derive(Serialize, Deserialize)]
struct StoredIncarnation {
    id: u64,
    first: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    named: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sightings: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    /// What earlier releases kept of a geometry beside them is read by the migration alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    terms: Vec<StoredKey>,
}

/// A hash key that holds from a generation on.
#[derive(Serialize, Deserialize)]
struct StoredKey {
    generation: u64,
    hash_key: String,
}

impl StoredKey {
    fn read(&self) -> Result<(u64, SeenKey), String> {
        let mut key = [0; 16];
        let read = hex::decode_to_slice(&self.hash_key, &mut key);
        read.map_err(|error| format!("the hash key of generation {}: {error}", self.generation))?;
        Ok((self.generation, key))
    }
}

impl StoredIncarnation {
    fn new(span: &IncarnationSpan) -> Self {
        StoredIncarnation {
            id: span.id,
            first: span.first,
            last: span.last,
            named: span.named,
            sightings: span.sightings.clone(),
            network: span.network.map(hex::encode),
            terms: span
                .keys
                .iter()
                .map(|&(generation, key)| StoredKey { generation, hash_key: hex::encode(key) })
                .collect(),
        }
    }

    fn read(&self) -> Result<IncarnationSpan, String> {
        let mut network = None;
        if let Some(text) = &self.network {
            let mut key = [0; 32];
            hex::decode_to_slice(text, &mut key).map_err(|error| format!("network: {error}"))?;
            network = Some(key);
        }
        let keys = self.terms.iter().map(StoredKey::read).collect::<Result<_, _>>()?;
        let StoredIncarnation { id, first, last, named, ref sightings, .. } = *self;
        let sightings = sightings.clone();
        Ok(IncarnationSpan { id, first, last, named, sightings, network, keys })
    }
}

impl Identity {
    /// Reads the identity of a folder, or makes one.
    pub(crate) fn open(folder: &Path, now_secs: u64) -> Result<Self, OpenError> {
        match Identity::read(folder) {
            Err(OpenError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                // With new keys the server would start well, and know nothing of what the journal holds.
                if has_files(&folder.join(JOURNAL_FOLDER)) {
                    return Err(OpenError::NoIdentity(folder.to_owned()));
                }
                let identity = Identity::random(now_secs).map_err(OpenError::file(folder))?;
                identity.save(folder)?;
                Ok(identity)
            }
            read => read,
        }
    }

    /// Reads the identity of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(FILE);
        let bytes = fs::read(&path).map_err(OpenError::file(&path))?;
        let damaged = |why: Cause| OpenError::Damaged { path: path.clone(), why };
        let advised = |why: serde_json::Error| {
            damaged(Cause::from(format!(
                "the site's keys cannot be read: {why}; put the file back from a backup (seenit restore)"
            )))
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(advised)?;
        Identity::from_stored(&stored).map_err(|why| damaged(why.into()))
    }

    /// Reads the identity of a folder that must be a site already.
    pub(crate) fn of_site(folder: &Path) -> Result<Self, OpenError> {
        if folder.is_dir() && !folder.join(FILE).exists() {
            return Err(OpenError::NoDataFolder(folder.to_owned()));
        }
        Identity::read(folder)
    }

    fn random(now_secs: u64) -> io::Result<Self> {
        let mut signing = Zeroizing::new([0; 32]);
        let mut hash_key = Zeroizing::new([0; 16]);
        getrandom::fill(signing.as_mut_slice()).map_err(io::Error::other)?;
        getrandom::fill(hash_key.as_mut_slice()).map_err(io::Error::other)?;
        let incarnations = vec![IncarnationSpan::private(now_secs, 1)];
        Ok(Identity { signing: SigningKey::from_bytes(&signing), hash_key, incarnations })
    }

    fn from_stored(stored: &Stored) -> Result<Self, String> {
        if !(1..=VERSION).contains(&stored.version) {
            return Err(format!(
                "an identity of version {}: this program reads versions 1 to {VERSION}",
                stored.version
            ));
        }
        let mut signing = [0; 32];
        hex::decode_to_slice(&stored.signing_key, &mut signing)
            .map_err(|error| format!("signing_key: {error}"))?;
        let mut hash_key = Zeroizing::new([0; 16]);
        hex::decode_to_slice(&stored.hash_key, hash_key.as_mut_slice())
            .map_err(|error| format!("hash_key: {error}"))?;
        if stored.incarnations.is_empty() {
            return Err("there is no incarnation in it".into());
        }
        let incarnations =
            stored.incarnations.iter().map(StoredIncarnation::read).collect::<Result<_, _>>()?;
        Ok(Identity { signing: SigningKey::from_bytes(&signing), hash_key, incarnations })
    }

    /// Writes it, whole or not at all.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), OpenError> {
        let was_shared = self.incarnations.iter().any(|span| span.network.is_some());
        let stored = Stored {
            version: if was_shared { VERSION } else { 1 },
            signing_key: hex::encode(self.signing.to_bytes()),
            hash_key: hex::encode(self.hash_key.as_slice()),
            incarnations: self.incarnations.iter().map(StoredIncarnation::new).collect(),
        };
        let bytes = serde_json::to_vec_pretty(&stored).map_err(io::Error::other);
        let path = folder.join(FILE);
        Ok(private::write(&path, &bytes.map_err(OpenError::file(&path))?)?)
    }

    /// Begins a new incarnation of the folder, of the same network as the one before, durably.
    pub(crate) fn begin_incarnation(
        &mut self,
        folder: &Path,
        ending: Ending,
        now_secs: u64,
    ) -> Result<(), OpenError> {
        let IncarnationSpan { network, keys, .. } = self.incarnation().clone();
        *self = self.with_incarnation(ending, now_secs, network, keys);
        self.save(folder)
    }

    /// The identity with one more incarnation, not saved yet.
    pub(crate) fn with_incarnation(
        &self,
        ending: Ending,
        now_secs: u64,
        network: Option<[u8; 32]>,
        keys: Vec<(u64, SeenKey)>,
    ) -> Self {
        let mut next = self.clone();
        let id = now_secs.max(self.incarnation().id + 1);
        if let Some(ended) = next.incarnations.last_mut() {
            ended.last = Some(ending.last);
            (ended.named, ended.sightings) = (ending.named, ending.sightings);
        }
        assert!(id > self.incarnation().id, "a new incarnation has a higher number than all before it");
        next.incarnations.push(IncarnationSpan::new(id, ending.next, network, keys));
        next
    }

    /// The identity with other hash keys of the present incarnation, not saved yet.
    pub(crate) fn with_keys(&self, keys: Vec<(u64, SeenKey)>) -> Self {
        let mut next = self.clone();
        if let Some(present) = next.incarnations.last_mut() {
            present.keys = keys;
        }
        next
    }

    /// The present incarnation of the folder.
    pub(crate) fn incarnation(&self) -> &IncarnationSpan {
        self.incarnations.last().expect("there is always one")
    }

    /// All incarnations of the folder; the present one is the last.
    pub(crate) fn incarnations(&self) -> &[IncarnationSpan] {
        &self.incarnations
    }

    /// The incarnation with a number.
    pub(crate) fn span(&self, id: u64) -> Option<&IncarnationSpan> {
        self.incarnations.iter().find(|span| span.id == id)
    }

    /// The hash key with a fingerprint: the site's own, or one of any incarnation's.
    pub(crate) fn key_of(&self, fingerprint: KeyFingerprint) -> Option<[u8; 16]> {
        let of_networks = self.incarnations.iter().flat_map(|span| &span.keys);
        let mut keys = std::iter::once(*self.hash_key).chain(of_networks.map(|(_, key)| *key));
        keys.find(|key| SipKey::new(*key).fingerprint() == fingerprint)
    }

    /// What an incarnation hashes the signatures of a generation with.
    pub(crate) fn seen_key(&self, incarnation: u64, generation: u64) -> SeenKey {
        let network = self.span(incarnation).and_then(|span| span.key_at(generation));
        network.unwrap_or(*self.hash_key)
    }

    /// The incarnation that a record belongs to.
    pub(crate) fn incarnation_of(&self, number: u64) -> u64 {
        let born = self.incarnations.iter().rev().find(|one| one.first <= number);
        born.unwrap_or(&self.incarnations[0]).id
    }

    /// Whether a record may have been named under an incarnation: it belongs to it, or did until a later one took it
    /// over.
    pub(crate) fn names(&self, incarnation: u64, number: u64) -> bool {
        let did =
            |span: &IncarnationSpan| span.named.is_some_and(|last| (span.first..=last).contains(&number));
        self.incarnation_of(number) == incarnation || self.span(incarnation).is_some_and(did)
    }

    /// The site's public key.
    pub(crate) fn site(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    /// What the site signs with.
    pub(crate) fn site_secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.signing.to_bytes())
    }

    /// The key that the site's own tallies hash signatures with.
    pub(crate) fn hash_key(&self) -> [u8; 16] {
        *self.hash_key
    }
}

fn has_files(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// The number of a record that was durable, kept beside the journal: a store that lost its end without a word is found
/// out by it.
#[derive(Debug)]
pub(crate) struct HighMark {
    file: File,
    written: u64,
}

impl HighMark {
    /// Opens the mark of a folder, and what it says; 0 where it says nothing.
    pub(crate) fn open(folder: &Path) -> Result<Self, OpenError> {
        use std::os::unix::fs::FileExt;
        let path = folder.join("journal.mark");
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let file = file.map_err(OpenError::file(&path))?;
        let mut bytes = [0; 16];
        // A mark that is too short, or whose halves differ, was cut off when it was made or changed: it says nothing.
        let _ = file.read_at(&mut bytes, 0).map_err(OpenError::file(&path))?;
        let (number, check) = bytes.split_at(8);
        let number = u64::from_le_bytes(std::array::from_fn(|index| number[index]));
        let check = u64::from_le_bytes(std::array::from_fn(|index| check[index]));
        Ok(HighMark { file, written: if check == !number { number } else { 0 } })
    }

    pub(crate) fn number(&self) -> u64 {
        self.written
    }

    /// Raises the mark, durably.
    pub(crate) fn raise(&mut self, number: u64) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        if number <= self.written {
            return Ok(());
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&(!number).to_le_bytes());
        self.file.write_all_at(&bytes, 0)?;
        self.file.sync_data()?;
        self.written = number;
        Ok(())
    }
}

/// Keeps a second process out of a folder for as long as it lives.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "held, never read")] File);

impl FolderLock {
    pub(crate) fn take(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join("lock");
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(OpenError::file(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(file)),
            Err(fs::TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => Err(OpenError::File { path, error }),
        }
    }
}
