//! The admin's folder: the key that is the network, and every paper it signed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::readable;
use seenit_ledger::private;
use seenit_sites::introduction::Introduction;
use seenit_sites::key::{AdminKey, AdminSecret, KEY_BYTES, SiteKey};
use seenit_sites::manifest::{HashKey, MANIFEST_BYTES_MAX, Manifest, Terms};
use seenit_sites::roster::{Member, ROSTER_BYTES_MAX, Roster};

use crate::problem::Problem;

const KEY_FILE: &str = "admin.key";
const PAPERS: &str = "papers";
const HASH_KEYS: &str = "hash-keys";
const INTRODUCTIONS: &str = "introductions";

/// The most bytes of a file with a key or a line.
const LINE_BYTES_MAX: usize = 1024;

/// The folder, locked: two commands at once would sign two rosters of one version.
pub(super) struct Folder {
    path: PathBuf,
    secret: AdminSecret,
    _lock: File,
}

impl Folder {
    /// Makes the folder of a new network.
    pub(super) fn create(path: &Path) -> Result<Self, Problem> {
        let key_file = path.join(KEY_FILE);
        private::folder(path)?;
        let lock = lock(path)?;
        if key_file.exists() {
            let error =
                io::Error::new(io::ErrorKind::AlreadyExists, "there is a network in this folder already");
            return Err(Problem::output(&key_file)(error));
        }
        for folder in [PAPERS, HASH_KEYS, INTRODUCTIONS] {
            private::folder(&path.join(folder))?;
        }
        let secret = AdminSecret::from_bytes(random()?);
        write(&key_file, format!("{}\n", hex::encode(secret.to_bytes())).as_bytes())?;
        Ok(Folder { path: path.to_owned(), secret, _lock: lock })
    }

    /// Opens one that is there.
    pub(super) fn open(path: &Path) -> Result<Self, Problem> {
        let key_file = path.join(KEY_FILE);
        let text = read(&key_file, LINE_BYTES_MAX)?;
        let mut secret = [0; KEY_BYTES];
        hex::decode_to_slice(text.trim_ascii_end(), &mut secret)
            .map_err(|_| damaged(&key_file, "it holds no key: 64 hexadecimal digits"))?;
        let lock = lock(path)?;
        Ok(Folder { path: path.to_owned(), secret: AdminSecret::from_bytes(secret), _lock: lock })
    }

    pub(super) fn secret(&self) -> &AdminSecret {
        &self.secret
    }

    /// What the network is.
    pub(super) fn network(&self) -> AdminKey {
        self.secret.public()
    }

    /// The newest roster.
    pub(super) fn roster(&self) -> Result<Roster, Problem> {
        let newest = self.numbers("roster")?.into_iter().max();
        let newest = newest.ok_or_else(|| damaged(&self.path.join(PAPERS), "there is no roster in it"))?;
        let path = self.paper("roster", newest);
        let roster = Roster::decode(&read(&path, ROSTER_BYTES_MAX)?, &self.network());
        roster.map_err(|error| damaged(&path, error))
    }

    /// All manifests, by their numbers.
    pub(super) fn manifests(&self) -> Result<Vec<Manifest>, Problem> {
        let mut numbers = self.numbers("manifest")?;
        numbers.sort_unstable();
        let one = |number: u64| {
            let path = self.paper("manifest", number);
            let manifest = Manifest::decode(&read(&path, MANIFEST_BYTES_MAX)?, &self.network());
            manifest.map_err(|error| damaged(&path, error))
        };
        numbers.into_iter().map(one).collect()
    }

    /// Signs the next roster.
    pub(super) fn sign_roster(&self, version: u64, members: Vec<Member>) -> Result<Roster, Problem> {
        Roster::sign(&self.secret, version, members).map_err(|error| Problem::Refused(error.to_string()))
    }

    /// Keeps a roster: from then on it is the newest.
    pub(super) fn keep_roster(&self, roster: &Roster) -> Result<(), Problem> {
        write(&self.paper("roster", roster.version()), roster.bytes())
    }

    /// Signs the next manifest, and keeps it with its hash key.
    pub(super) fn add_manifest(&self, terms: Terms, roster: &Roster, key: &HashKey) -> Result<u64, Problem> {
        let number = self.numbers("manifest")?.into_iter().max().unwrap_or(0) + 1;
        let manifest = Manifest::sign(&self.secret, number, terms, roster, key, random()?)
            .map_err(|error| Problem::Refused(error.to_string()))?;
        write(&self.hash_key_file(&manifest), format!("{}\n", hex::encode(key.to_bytes())).as_bytes())?;
        write(&self.paper("manifest", number), manifest.bytes())?;
        Ok(number)
    }

    /// The hash key of a manifest.
    pub(super) fn hash_key(&self, manifest: &Manifest) -> Result<HashKey, Problem> {
        let path = self.hash_key_file(manifest);
        let mut bytes = [0; 16];
        hex::decode_to_slice(read(&path, LINE_BYTES_MAX)?.trim_ascii_end(), &mut bytes)
            .map_err(|_| damaged(&path, "it holds no hash key: 32 hexadecimal digits"))?;
        let key = HashKey::from_bytes(bytes);
        if key.fingerprint() == manifest.key() {
            Ok(key)
        } else {
            Err(damaged(&path, "it is another hash key"))
        }
    }

    pub(super) fn keep_introduction(&self, introduction: &Introduction) -> Result<(), Problem> {
        let path = self.introduction_file(introduction.site());
        write(&path, format!("{introduction}\n").as_bytes())
    }

    /// What a member said when it was admitted.
    pub(super) fn introduction(&self, site: &SiteKey) -> Result<Introduction, Problem> {
        let path = self.introduction_file(site);
        let text = String::from_utf8(read(&path, LINE_BYTES_MAX)?).unwrap_or_default();
        text.trim_end().parse().map_err(|error| damaged(&path, error))
    }

    fn introduction_file(&self, site: &SiteKey) -> PathBuf {
        self.path.join(INTRODUCTIONS).join(site.to_string())
    }

    fn hash_key_file(&self, manifest: &Manifest) -> PathBuf {
        self.path.join(HASH_KEYS).join(hex::encode(manifest.key().0))
    }

    fn paper(&self, kind: &str, number: u64) -> PathBuf {
        self.path.join(PAPERS).join(format!("{kind}-{number}.bin"))
    }

    /// The numbers of all papers of a kind.
    fn numbers(&self, kind: &str) -> Result<Vec<u64>, Problem> {
        let folder = self.path.join(PAPERS);
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Problem::input(&folder))? {
            let name = entry.map_err(Problem::input(&folder))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(kind)?.strip_prefix('-'));
            let number: Option<u64> = number.and_then(|name| name.strip_suffix(".bin")?.parse().ok());
            numbers.extend(number);
        }
        Ok(numbers)
    }
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Problem::io("random bytes")(io::Error::other(error)))?;
    Ok(bytes)
}

fn lock(folder: &Path) -> Result<File, Problem> {
    let path = folder.join("lock");
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(Problem::output(&path))?;
    file.try_lock().map_err(|error| {
        let why = match error {
            fs::TryLockError::WouldBlock => io::Error::other("another command is at work in this folder"),
            fs::TryLockError::Error(error) => error,
        };
        Problem::output(&path)(why)
    })?;
    Ok(file)
}

fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Problem::input(path))?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(Problem::input(path))?;
    if bytes.len() > bytes_max {
        Err(damaged(path, format!("it has more than {}", readable::bytes(bytes_max as u64))))
    } else {
        Ok(bytes)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    Ok(private::write(path, bytes)?)
}

fn damaged(path: &Path, why: impl std::fmt::Display) -> Problem {
    Problem::Paper { path: path.to_owned(), why: why.to_string() }
}
