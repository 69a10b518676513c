//! The admin's folder: the key that is the network, every document it signed, who is invited, and where the broker is.

pub(super) mod settings;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::readable;
use seenit_ledger::private;
use seenit_sites::introduction::Introduction;
use seenit_sites::key::{AdminKey, AdminSecret, BrokerKey, KEY_BYTES, SiteKey};
use seenit_sites::manifest::{HashKey, MANIFEST_BYTES_MAX, Manifest, ManifestTerms};
use seenit_sites::roster::{Caps, Member, Name, ROSTER_BYTES_MAX, Roster};

use self::settings::Settings;
use crate::problem::Problem;

const KEY_FILE: &str = "admin.key";
const PAPERS: &str = "papers";
const HASH_KEYS: &str = "hash-keys";
const INTRODUCTIONS: &str = "introductions";
const INVITES: &str = "invites";
const SETTINGS: &str = "broker.json";
const BROKER_CONF: &str = "broker.conf";

/// The most bytes of a file with a key or a line.
const LINE_BYTES_MAX: usize = 1024;

/// The most bytes of the settings.
const SETTINGS_BYTES_MAX: usize = 64 * 1024;

/// The folder, locked: two commands at once would sign two rosters of one version.
pub(super) struct Folder {
    path: PathBuf,
    secret: AdminSecret,
    _lock: File,
}

/// An invite that is open.
pub(super) struct Open {
    /// Whom it is for.
    pub(super) name: Name,
    /// The key of its holder.
    pub(super) key: BrokerKey,
    /// When it ends, in seconds since the Unix epoch.
    pub(super) expires_secs: u64,
    /// The words of the introduction that the admin was shown; empty if none was shown yet.
    pub(super) shown: String,
}

impl Folder {
    /// Whether there is a network in a folder.
    pub(super) fn exists(path: &Path) -> bool {
        path.join(KEY_FILE).exists()
    }

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
        if !key_file.exists() {
            let why = "there is no network in this folder; make one with `seenit network up`, or name the admin's folder \
                with --folder";
            return Err(Problem::input(&key_file)(io::Error::new(io::ErrorKind::NotFound, why)));
        }
        let text = read(&key_file, LINE_BYTES_MAX)?;
        let mut secret = [0; KEY_BYTES];
        hex::decode_to_slice(text.trim_ascii_end(), &mut secret)
            .map_err(|_| damaged(&key_file, "it holds no key: 64 hexadecimal digits"))?;
        let lock = lock(path)?;
        Ok(Folder { path: path.to_owned(), secret: AdminSecret::from_bytes(secret), _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration of the broker.
    pub(super) fn broker_conf(&self) -> PathBuf {
        self.path.join(BROKER_CONF)
    }

    /// Where the broker is; nothing if `up` was not told yet.
    pub(super) fn settings(&self) -> Result<Option<Settings>, Problem> {
        let path = self.path.join(SETTINGS);
        if !path.exists() {
            return Ok(None);
        }
        let settings = serde_json::from_slice(&read(&path, SETTINGS_BYTES_MAX)?);
        settings.map(Some).map_err(|error| damaged(&path, error))
    }

    /// The same for commands that need it.
    pub(super) fn known_settings(&self) -> Result<Settings, Problem> {
        let unknown = || {
            let folder = self.path.display();
            let why =
                format!("where is the broker? run `seenit network up --folder {folder} --nats URL` once");
            Problem::Value(why)
        };
        self.settings()?.ok_or_else(unknown)
    }

    pub(super) fn keep_settings(&self, settings: &Settings) -> Result<(), Problem> {
        let path = self.path.join(SETTINGS);
        let bytes = serde_json::to_vec_pretty(settings).map_err(|error| damaged(&path, error))?;
        write(&path, &bytes)
    }

    pub(super) fn keep_invite(&self, open: &Open) -> Result<(), Problem> {
        private::folder(&self.path.join(INVITES))?;
        let text = format!("{} {} {}\n", open.key, open.expires_secs, open.shown);
        write(&self.path.join(INVITES).join(open.name.as_str()), text.as_bytes())
    }

    /// Forgets the invite of a site: what is left at the door with it is not looked at any more.
    pub(super) fn close_invite(&self, name: &Name) -> Result<(), Problem> {
        let path = self.path.join(INVITES).join(name.as_str());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Problem::output(&path)(error)),
            _ => Ok(()),
        }
    }

    /// All invites that are open, by their names.
    pub(super) fn invites(&self) -> Result<Vec<Open>, Problem> {
        let folder = self.path.join(INVITES);
        let mut found = Vec::new();
        for path in files(&folder)? {
            let text = String::from_utf8(read(&path, LINE_BYTES_MAX)?).unwrap_or_default();
            let name = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            let mut parts = text.trim_end_matches('\n').splitn(3, ' ');
            let key = parts.next().and_then(|key| key.parse().ok());
            let expires_secs = parts.next().and_then(|expires| expires.parse().ok());
            let shown = parts.next().unwrap_or_default().to_owned();
            let (Some(name), Some(key), Some(expires_secs)) = (name, key, expires_secs) else {
                return Err(damaged(&path, "it is no invite; take the file away"));
            };
            found.push(Open { name, key, expires_secs, shown });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
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
        let path = self.document("roster", newest);
        let roster = Roster::decode(&read(&path, ROSTER_BYTES_MAX)?, &self.network());
        roster.map_err(|error| damaged(&path, format!("no roster of this network: {error}")))
    }

    /// How far a site was believed when it was last a member.
    pub(super) fn caps_before(&self, site: &SiteKey) -> Result<Option<Caps>, Problem> {
        let mut versions = self.numbers("roster")?;
        versions.sort_unstable();
        for version in versions.into_iter().rev() {
            let path = self.document("roster", version);
            let roster = Roster::decode(&read(&path, ROSTER_BYTES_MAX)?, &self.network());
            if let Some(member) = roster
                .map_err(|error| damaged(&path, format!("no roster of this network: {error}")))?
                .member(site)
            {
                return Ok(Some(member.caps));
            }
        }
        Ok(None)
    }

    /// The keys of all sites that were members once and are not in this roster.
    pub(super) fn removed(&self, roster: &Roster) -> Result<Vec<BrokerKey>, Problem> {
        let mut removed = Vec::new();
        for path in files(&self.path.join(INTRODUCTIONS))? {
            let name = path.file_name().and_then(|name| name.to_str()?.parse::<SiteKey>().ok());
            if let Some(site) = name.filter(|site| roster.member(site).is_none()) {
                removed.push(self.introduction(&site)?.broker);
            }
        }
        removed.sort_unstable();
        Ok(removed)
    }

    /// All manifests, by their numbers.
    pub(super) fn manifests(&self) -> Result<Vec<Manifest>, Problem> {
        let mut numbers = self.numbers("manifest")?;
        numbers.sort_unstable();
        let one = |number: u64| {
            let path = self.document("manifest", number);
            let manifest = Manifest::decode(&read(&path, MANIFEST_BYTES_MAX)?, &self.network());
            manifest.map_err(|error| damaged(&path, format!("no manifest of this network: {error}")))
        };
        numbers.into_iter().map(one).collect()
    }

    /// Signs the next roster.
    pub(super) fn sign_roster(&self, version: u64, members: Vec<Member>) -> Result<Roster, Problem> {
        Roster::sign(&self.secret, version, members).map_err(|error| Problem::Refused(error.to_string()))
    }

    /// Keeps a roster: from then on it is the newest.
    pub(super) fn keep_roster(&self, roster: &Roster) -> Result<(), Problem> {
        write(&self.document("roster", roster.version), &roster.bytes)
    }

    /// Signs the next manifest, and keeps it with its hash key.
    pub(super) fn add_manifest(
        &self,
        terms: ManifestTerms,
        roster: &Roster,
        key: &HashKey,
    ) -> Result<u64, Problem> {
        let number = self.numbers("manifest")?.into_iter().max().unwrap_or(0) + 1;
        let manifest = Manifest::sign(&self.secret, number, terms, roster, key, random()?)
            .map_err(|error| Problem::Refused(error.to_string()))?;
        write(&self.hash_key_file(&manifest), format!("{}\n", hex::encode(key.to_bytes())).as_bytes())?;
        write(&self.document("manifest", number), &manifest.bytes)?;
        Ok(number)
    }

    /// The hash key of a manifest.
    pub(super) fn hash_key(&self, manifest: &Manifest) -> Result<HashKey, Problem> {
        let path = self.hash_key_file(manifest);
        let mut bytes = [0; 16];
        hex::decode_to_slice(read(&path, LINE_BYTES_MAX)?.trim_ascii_end(), &mut bytes)
            .map_err(|_| damaged(&path, "it holds no hash key: 32 hexadecimal digits"))?;
        let key = HashKey::from_bytes(bytes);
        if key.fingerprint() == manifest.key {
            Ok(key)
        } else {
            Err(damaged(&path, "it is another hash key"))
        }
    }

    pub(super) fn keep_introduction(&self, introduction: &Introduction) -> Result<(), Problem> {
        let path = self.introduction_file(&introduction.site);
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
        self.path.join(HASH_KEYS).join(hex::encode(manifest.key.0))
    }

    fn document(&self, kind: &str, number: u64) -> PathBuf {
        self.path.join(PAPERS).join(format!("{kind}-{number}.bin"))
    }

    /// The numbers of all documents of a kind.
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

/// The files of a folder; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Problem::input(folder))?,
    };
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(Problem::input(folder))).collect()
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
    Problem::AdminFile { path: path.to_owned(), why: why.to_string() }
}
