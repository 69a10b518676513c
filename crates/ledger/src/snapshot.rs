//! Snapshots: memory as a file, so that a start need not read the whole journal, and `check --local` needs no server.
//!
//! ```text
//! magic     16 bytes: "seenit snapshot\n"
//! version   4 bytes, 3
//! head      4 bytes: how many bytes of JSON, then they: what the file holds, its position, its sections
//! check     32 bytes: BLAKE3 of everything before
//! sections  each at a multiple of 4096 bytes from the beginning of the file, padded with zeros
//! ```
//!
//! Sections are named, and the head has the length and BLAKE3 of each: `table` (words of 8 bytes, lowest first),
//! `near-spam`, `near-ham` (filter files, docs/reference/format.md), `bulk` (generation, 8 bytes, highest first, and
//! hash, 16; as the journal has them when the file is named), `forgotten` (hash, 16 bytes, generation and count, 8
//! each). A file appears under its name whole or not at all. One that is damaged is put aside, and memory is made
//! from the journal.
//!
//! Seen counts are not in it: they are rebuilt from the log of sightings. Versions 1 and 2 have them as cells:
//! `seen-G`, and `frozen-I-G` of incarnation I or `others-G` of all incarnations before the present one. `migrate`
//! reads those.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use seenit_filter::cells::SplitCells;
use seenit_filter::counting::{CountingFilter, Rule};
use seenit_filter::file::FileView;
use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::table::Table;
use seenit_filter::{AnyLayout, HugePages};
use serde::{Deserialize, Serialize};

use crate::config::LedgerConfig;
use crate::error::Cause;
use crate::journal::{hash_bytes, hash_of};
use crate::mapped::Mapped;
use crate::memory::Memory;
use crate::near::Near;
use crate::new_file::NewFile;
use crate::seen::Counts;
use crate::tally::Forgotten;

const MAGIC: &[u8; 16] = b"seenit snapshot\n";
/// What is written; what was written before is read, too.
const VERSION: u32 = 3;
const ALIGN: usize = 4096;

/// The file's name in the data folder, and that of the one before it.
pub(crate) const FILES: [&str; 2] = ["snapshot", "snapshot.previous"];

/// The room of the head: some 200 bytes a section, of which there were at most 67.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// What a snapshot says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The configuration that memory was made with.
    #[serde(deserialize_with = "crate::config::of_snapshot")]
    pub(crate) config: LedgerConfig,
    /// The last record in it.
    pub(crate) position: u64,
    /// The generation it was taken in.
    pub(crate) generation: u64,
    /// Generations before this one are hidden.
    pub(crate) hidden_before: u64,
    /// When it was taken, in seconds since the Unix epoch.
    pub(crate) time: u64,
    /// The incarnation that it was taken in.
    pub(crate) incarnation: u64,
    /// The serial number of the last record of a peer in it.
    #[serde(default)]
    pub(crate) heard: u64,
    /// The tag of the table of peers that its tallies count by.
    #[serde(default)]
    pub(crate) peers: u64,
    /// Whether a signature is protected in it as long as one message protects it. Older versions went by the last
    /// record.
    #[serde(default)]
    pub(crate) protections_counted: bool,
    /// How many moves of the horizon it knows.
    #[serde(default)]
    pub(crate) horizon: u64,
    /// New signatures by generation.
    #[serde(default)]
    pub(crate) added: Vec<(u64, u64)>,
    /// Before version 3: for each generation of seen counts how many deltas are in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) seen: Vec<(u64, u64)>,
    /// Before version 3: cells of earlier incarnations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) frozen: Vec<FrozenOf>,
    /// Counters beside the shingle tallies.
    pub(crate) near: Vec<u64>,
    sections: Vec<Section>,
}

/// Cells of an earlier incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenOf {
    pub(crate) incarnation: u64,
    pub(crate) generation: u64,
    /// The last delta in them.
    pub(crate) sequence: u64,
    /// Whether they were published to a network.
    pub(crate) shared: bool,
}

impl FrozenOf {
    fn section(&self) -> String {
        format!("frozen-{}-{}", self.incarnation, self.generation)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Section {
    name: String,
    offset: u64,
    bytes: u64,
    blake3: String,
}

/// What cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Damaged(#[source] Cause),
    #[error("{0}")]
    Geometry(#[from] seenit_filter::GeometryError),
}

/// What the writer knows and memory does not.
pub(crate) struct Taken {
    pub(crate) position: u64,
    pub(crate) generation: u64,
    pub(crate) hidden_before: u64,
    pub(crate) time: u64,
    pub(crate) incarnation: u64,
    pub(crate) heard: u64,
    pub(crate) peers: u64,
    pub(crate) horizon: u64,
    pub(crate) added: Vec<(u64, u64)>,
}

/// A snapshot that is about to be taken: what it would say.
pub(crate) struct Contents {
    head: Head,
}

impl Contents {
    pub(crate) fn new(config: &LedgerConfig, memory: &Memory, taken: Taken) -> Self {
        let head = Head {
            config: config.clone(),
            position: taken.position,
            generation: taken.generation,
            hidden_before: taken.hidden_before,
            time: taken.time,
            incarnation: taken.incarnation,
            heard: taken.heard,
            peers: taken.peers,
            protections_counted: true,
            horizon: taken.horizon,
            added: taken.added,
            seen: Vec::new(),
            frozen: Vec::new(),
            near: memory.near.numbers(),
            sections: Vec::new(),
        };
        Contents { head }
    }

    /// Whether a snapshot says all of it already. Everything that changes memory changes something in the head; when a
    /// snapshot was taken, and where its sections lie, says nothing of memory.
    pub(crate) fn is_in(&self, last: &Head) -> bool {
        let Head { time, sections, .. } = last.clone();
        Head { time, sections, ..self.head.clone() } == *last
    }

    /// Copies memory into a file of no name yet. Nobody may change memory meanwhile.
    pub(crate) fn copy(self, folder: &Path, memory: &Memory) -> Result<Copied, SnapshotError> {
        let file = NewFile::private(folder)?;
        let mut sections =
            Sections { out: io::BufWriter::with_capacity(1 << 20, file), at: 0, done: Vec::new() };
        sections.skip(HEAD_BYTES_MAX)?;
        sections.add("table", |out| {
            for word in memory.table.words() {
                out.write_all(&word.to_le_bytes())?;
            }
            Ok(())
        })?;
        for (name, filter) in ["near-spam", "near-ham"].into_iter().zip(memory.near.filters()) {
            let filter = filter.snapshot()?;
            sections.add(name, |out| seenit_filter::file::write(&filter, out))?;
        }
        sections.add("forgotten", |out| {
            for (hash, Forgotten { generation, count }) in memory.forgotten() {
                out.write_all(&hash_bytes(hash))?;
                out.write_all(&generation.to_be_bytes())?;
                out.write_all(&count.to_be_bytes())?;
            }
            Ok(())
        })?;
        Ok(Copied { head: self.head, sections })
    }
}

/// Memory as it was at a record, in a file of no name yet. The rest needs memory no more.
pub(crate) struct Copied {
    head: Head,
    sections: Sections,
}

impl Copied {
    /// Adds the bulk marks, which the journal has, and gives the file its name, durably.
    pub(crate) fn publish(mut self, folder: &Path, bulk: &[u8]) -> Result<Head, SnapshotError> {
        self.sections.add("bulk", |out| out.write_all(bulk))?;
        let head = Head { sections: self.sections.done, ..self.head };
        let file = self.sections.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        put_head(&file, &head)?;
        publish(folder, file)?;
        Ok(head)
    }
}

/// Gives a written snapshot its name, durably.
fn publish(folder: &Path, file: NewFile) -> Result<(), SnapshotError> {
    file.as_file().sync_all()?;
    let [name, previous] = FILES.map(|name| folder.join(name));
    match fs::rename(&name, previous) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    file.put(&name)?;
    Ok(())
}

struct Sections {
    out: io::BufWriter<NewFile>,
    at: usize,
    done: Vec<Section>,
}

impl Sections {
    fn skip(&mut self, bytes: usize) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), bytes as u64), &mut self.out)?;
        self.at += bytes;
        Ok(())
    }

    fn add(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Digesting<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = Digesting { out: &mut self.out, hasher: blake3::Hasher::new(), bytes: 0 };
        write(&mut out)?;
        let bytes = out.bytes;
        let blake3 = out.hasher.finalize().to_hex().to_string();
        self.done.push(Section {
            name: name.to_owned(),
            offset: self.at as u64,
            bytes: bytes as u64,
            blake3,
        });
        self.at += bytes;
        self.skip(self.at.next_multiple_of(ALIGN) - self.at)
    }
}

struct Digesting<'a> {
    out: &'a mut io::BufWriter<NewFile>,
    hasher: blake3::Hasher,
    bytes: usize,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn put_head(file: &NewFile, head: &Head) -> Result<(), SnapshotError> {
    use std::os::unix::fs::FileExt;
    let json = serde_json::to_vec(head).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(json.len() + 64);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    let check = blake3::hash(&bytes);
    bytes.extend(check.as_bytes());
    if bytes.len() > HEAD_BYTES_MAX {
        return Err(SnapshotError::Damaged(format!("a head of {} bytes", bytes.len()).into()));
    }
    Ok(file.as_file().write_all_at(&bytes, 0)?)
}

/// A snapshot that was opened: its head is checked, its sections are checked as they are taken out.
pub(crate) struct Snapshot {
    map: Mapped,
    pub(crate) head: Head,
}

impl Snapshot {
    /// Opens a snapshot; `None` where there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, SnapshotError> {
        let map = match Mapped::open(path) {
            Ok(map) => map,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let head = head_of(&map)?;
        Ok(Some(Snapshot { map, head }))
    }

    fn section(&self, name: &str) -> Result<&[u8], SnapshotError> {
        let damaged = |why: &str| SnapshotError::Damaged(format!("its section {name} {why}").into());
        let section = self.head.sections.iter().find(|section| section.name == name);
        let section = section.ok_or_else(|| damaged("is missing"))?;
        let range = usize::try_from(section.offset).ok().zip(usize::try_from(section.bytes).ok());
        let bytes = range.and_then(|(offset, bytes)| self.map.get(offset..)?.get(..bytes));
        let bytes = bytes.ok_or_else(|| damaged("is cut off"))?;
        if blake3::hash(bytes).to_hex().as_str() != section.blake3 {
            return Err(damaged("is damaged"));
        }
        Ok(bytes)
    }

    /// The tally of records.
    pub(crate) fn table(&self, config: &LedgerConfig, sip: &SipKey) -> Result<Table, SnapshotError> {
        let (words, []) = self.section("table")?.as_chunks::<8>() else {
            return Err(SnapshotError::Damaged("its table ends within a word".into()));
        };
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let table = Table::from_words(config.capacity, sip.fingerprint(), words, HugePages::Default);
        table.map_err(|error| SnapshotError::Damaged(Cause::new(error)))
    }

    /// The tallies of shingles.
    pub(crate) fn near(&self, config: &LedgerConfig) -> Result<Near, SnapshotError> {
        let filters = [self.counts("near-spam")?, self.counts("near-ham")?];
        let near = Near::restore(config, filters, &self.head.near);
        near.ok_or_else(|| {
            SnapshotError::Damaged("its counters of texts are not as many as there are".into())
        })
    }

    /// Own seen counts of a generation.
    pub(crate) fn seen(&self, generation: u64) -> Result<Counts, SnapshotError> {
        self.counts(&format!("seen-{generation}"))
    }

    /// Seen counts of earlier incarnations.
    pub(crate) fn frozen(&self, of: &FrozenOf) -> Result<Counts, SnapshotError> {
        self.counts(&of.section())
    }

    /// The sum of all earlier incarnations, which version 1 has.
    pub(crate) fn others(&self, generation: u64) -> Result<Option<Counts>, SnapshotError> {
        let name = format!("others-{generation}");
        let is_there = self.head.sections.iter().any(|section| section.name == name);
        is_there.then(|| self.counts(&name)).transpose()
    }

    /// Bulk signatures: generation and hash.
    pub(crate) fn bulk(&self) -> Result<Vec<(u64, Hash128)>, SnapshotError> {
        self.entries("bulk", |entry: &[u8; 24]| {
            let (generation, hash) = entry.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*generation), hash_of(hash.try_into().ok()?)))
        })
    }

    /// Seen counts that were forgotten.
    pub(crate) fn forgotten(&self) -> Result<Vec<(Hash128, Forgotten)>, SnapshotError> {
        self.entries("forgotten", |entry: &[u8; 32]| {
            let (hash, numbers) = entry.split_first_chunk::<16>()?;
            let (generation, count) = numbers.split_first_chunk::<8>()?;
            let count = u64::from_be_bytes(count.try_into().ok()?);
            Some((hash_of(*hash), Forgotten { generation: u64::from_be_bytes(*generation), count }))
        })
    }

    fn entries<const N: usize, T>(
        &self,
        name: &str,
        entry: impl Fn(&[u8; N]) -> Option<T>,
    ) -> Result<Vec<T>, SnapshotError> {
        let damaged = || SnapshotError::Damaged(format!("its section {name} ends within an entry").into());
        let (entries, []) = self.section(name)?.as_chunks::<N>() else {
            return Err(damaged());
        };
        entries.iter().map(|bytes| entry(bytes).ok_or_else(damaged)).collect()
    }

    fn counts<R: Rule>(&self, name: &str) -> Result<CountingFilter<R, AnyLayout, SplitCells>, SnapshotError> {
        let damaged = |error: seenit_filter::FormatError| {
            SnapshotError::Damaged(format!("its section {name}: {error}").into())
        };
        let view = FileView::open(self.section(name)?).map_err(damaged)?;
        view.to_split(HugePages::Default).map_err(damaged)
    }
}

fn head_of(bytes: &[u8]) -> Result<Head, SnapshotError> {
    let damaged = |why: String| SnapshotError::Damaged(why.into());
    let start = bytes.get(..24).filter(|start| start.starts_with(MAGIC));
    let start = start.ok_or_else(|| damaged("it is no snapshot".into()))?;
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| start[at + index]));
    if !(1..=VERSION).contains(&number(16)) {
        return Err(damaged(format!(
            "it is of version {}: this program reads versions 1 to {VERSION}",
            number(16)
        )));
    }
    let end = 24 + (number(20) as usize).min(HEAD_BYTES_MAX);
    let (head, check) = bytes
        .get(..end)
        .zip(bytes.get(end..end + 32))
        .ok_or_else(|| damaged("its head is cut off".into()))?;
    if blake3::hash(head).as_bytes() != check {
        return Err(damaged("its head is damaged".into()));
    }
    serde_json::from_slice(&head[24..]).map_err(|error| damaged(format!("its head: {error}")))
}

/// Damaged snapshots that are kept of each name: enough to see whether it happened before, and no more than a few times
/// the memory on the disk.
const ASIDE_MAX: usize = 3;

/// Puts a damaged snapshot aside, for whoever wants to know what happened to it, under a name that no other has:
/// `NAME.damaged-1`, or the number after the highest there is. Says what was done; of more than a few the oldest go.
pub(crate) fn put_aside(path: &Path) -> io::Result<String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = format!("{name}.damaged-");
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let number =
            entry?.file_name().to_str().and_then(|name| name.strip_prefix(&prefix)?.parse::<u64>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    let next = numbers.last().map_or(1, |last| last.saturating_add(1));
    fs::rename(path, folder.join(format!("{prefix}{next}")))?;
    let mut done = format!("it was put aside as {prefix}{next}");
    let surplus = (numbers.len() + 1).saturating_sub(ASIDE_MAX);
    for oldest in &numbers[..surplus] {
        fs::remove_file(folder.join(format!("{prefix}{oldest}")))?;
        done += &format!("; {prefix}{oldest} was removed: the last {ASIDE_MAX} are kept");
    }
    Ok(done)
}
