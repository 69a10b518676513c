//! Snapshots in buckets: a site writes into its own and reads everybody's.
//!
//! A bucket is an object store of NATS. It is read message by message, as streams are, and not by the library's own
//! way: that makes a consumer, and follows links into other buckets.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{DeleteErrorKind, ObjectInfo, ObjectMetadata};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream as Held};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use futures_util::TryStreamExt;
use seenit_sites::key::SiteKey;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Arrived, BrokerError, Shared};

/// The largest object that is read or written.
pub(super) const OBJECT_BYTES_MAX: usize = 64 << 20;

/// Bytes of an object in one message, at most.
const CHUNK_BYTES: usize = 256 * 1024;

/// Messages of one object: more are not what this program writes, and would only take time.
const CHUNKS_MAX: usize = 8192;

/// Orders about objects that wait.
const WAITING_MAX: usize = 32;

/// How long one object may take.
const OBJECT_SECS: u64 = 120;

/// The most letters of an object's name.
const NAME_LETTERS_MAX: usize = 128;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Wanted {
    Put { name: String, bytes: Vec<u8> },
    Remove { name: String },
    Get { site: SiteKey, name: String },
}

/// Starts the task that does one thing after the other: what is put later is there later.
pub(super) fn start(tasks: &mut JoinSet<()>, shared: &Shared) -> mpsc::Sender<Wanted> {
    let (sender, mut wanted) = mpsc::channel(WAITING_MAX);
    let shared = shared.clone();
    tasks.spawn(async move {
        let mut is_swept = false;
        while let Some(wanted) = wanted.recv().await {
            if !is_swept && matches!(wanted, Wanted::Put { .. }) {
                let swept = in_time(sweep(&shared.context, &shared.names.bucket(&shared.site))).await;
                is_swept =
                    swept.inspect_err(|error| tracing::debug!(%error, "the bucket is not swept")).is_ok();
            }
            if let Some(arrived) = done(&shared, wanted).await {
                let _ = shared.arrived.send(arrived).await;
            }
        }
    });
    sender
}

/// Hands it to the task, or says at once that it failed.
pub(super) async fn give(shared: &Shared, task: &mpsc::Sender<Wanted>, wanted: Wanted) {
    let failed = match task.try_send(wanted).map_err(|error| error.into_inner()) {
        Err(Wanted::Put { name, .. }) => Arrived::Put { name, is_kept: false },
        Err(Wanted::Get { site, name }) => Arrived::Object { site, name, bytes: None },
        Err(Wanted::Remove { .. }) | Ok(()) => return,
    };
    let _ = shared.arrived.send(failed).await;
}

async fn done(shared: &Shared, wanted: Wanted) -> Option<Arrived> {
    let own = shared.names.bucket(&shared.site);
    match wanted {
        Wanted::Put { name, bytes } => {
            let kept = in_time(put(&shared.context, &own, &name, &bytes)).await;
            let is_kept = logged("put", &name, kept).is_some();
            Some(Arrived::Put { name, is_kept })
        }
        Wanted::Remove { name } => {
            let removed = in_time(remove(&shared.context, &own, &name)).await;
            logged("removed", &name, removed);
            None
        }
        Wanted::Get { site, name } => {
            let got = in_time(get(&shared.context, &shared.names.bucket(&site), &name)).await;
            let bytes = logged("got", &name, got).flatten();
            Some(Arrived::Object { site, name, bytes })
        }
    }
}

fn logged<T>(done: &str, name: &str, result: Result<T, BrokerError>) -> Option<T> {
    result.inspect_err(|error| tracing::warn!(object = name, %error, "an object could not be {done}")).ok()
}

async fn in_time<T>(work: impl Future<Output = Result<T, BrokerError>>) -> Result<T, BrokerError> {
    let late = |_| BrokerError::Failed(format!("no end after {OBJECT_SECS} s"));
    tokio::time::timeout(Duration::from_secs(OBJECT_SECS), work).await.map_err(late)?
}

/// Takes away what a put that was cut short has left: chunks that no object names.
async fn sweep(context: &Context, bucket: &str) -> Result<(), BrokerError> {
    let held = context.get_stream(format!("OBJ_{bucket}")).await.map_err(BrokerError::of)?;
    let metas = format!("$O.{bucket}.M.*");
    let chunks = format!("$O.{bucket}.C.");
    let mut named = HashSet::new();
    let mut subjects = held.info_with_subjects(metas).await.map_err(BrokerError::of)?;
    while let Some((subject, _)) = subjects.try_next().await.map_err(BrokerError::of)? {
        let meta = held.get_last_raw_message_by_subject(&subject).await.map_err(BrokerError::of)?;
        let meta: ObjectInfo = serde_json::from_slice(&meta.payload).map_err(BrokerError::of)?;
        named.insert(format!("{chunks}{}", meta.nuid));
    }
    let mut subjects = held.info_with_subjects(format!("{chunks}*")).await.map_err(BrokerError::of)?;
    while let Some((subject, _)) = subjects.try_next().await.map_err(BrokerError::of)? {
        if !named.contains(&subject) {
            held.purge().filter(subject).await.map_err(BrokerError::of)?;
        }
    }
    Ok(())
}

async fn put(context: &Context, bucket: &str, name: &str, bytes: &[u8]) -> Result<(), BrokerError> {
    check_name(name)?;
    if bytes.len() > OBJECT_BYTES_MAX {
        return Err(too_large(bytes.len()));
    }
    let store = context.get_object_store(bucket).await.map_err(BrokerError::of)?;
    let chunk_size = Some(CHUNK_BYTES);
    let meta = ObjectMetadata { name: name.to_owned(), chunk_size, ..ObjectMetadata::default() };
    store.put(meta, &mut &*bytes).await.map(drop).map_err(BrokerError::of)
}

async fn remove(context: &Context, bucket: &str, name: &str) -> Result<(), BrokerError> {
    let store = context.get_object_store(bucket).await.map_err(BrokerError::of)?;
    match store.delete(name).await {
        Err(error) if error.kind() != DeleteErrorKind::NotFound => Err(BrokerError::of(error)),
        _ => Ok(()),
    }
}

/// Reads an object; nothing if there is none.
async fn get(context: &Context, bucket: &str, name: &str) -> Result<Option<Vec<u8>>, BrokerError> {
    check_name(name)?;
    let held = context.get_stream_no_info(format!("OBJ_{bucket}")).await.map_err(BrokerError::of)?;
    let subject = format!("$O.{bucket}.M.{}", URL_SAFE.encode(name));
    let meta = match held.get_last_raw_message_by_subject(&subject).await {
        Ok(meta) => meta.payload,
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(None),
        Err(error) => return Err(BrokerError::of(error)),
    };
    let meta: ObjectInfo = serde_json::from_slice(&meta).map_err(BrokerError::of)?;
    if meta.deleted || meta.options.as_ref().is_some_and(|options| options.link.is_some()) {
        return Ok(None);
    }
    if meta.size > OBJECT_BYTES_MAX {
        return Err(too_large(meta.size));
    }
    if !meta.nuid.bytes().all(|letter| letter.is_ascii_alphanumeric()) {
        return Err(BrokerError::Failed("it says to be where no object is".to_owned()));
    }
    chunks(&held, &format!("$O.{bucket}.C.{}", meta.nuid), meta.size).await.map(Some)
}

/// All messages of a subject, which must have so many bytes.
async fn chunks(held: &Held<()>, subject: &str, size: usize) -> Result<Vec<u8>, BrokerError> {
    let mut bytes = Vec::new();
    let mut next = 1;
    for _ in 0..CHUNKS_MAX {
        if bytes.len() >= size {
            break;
        }
        let chunk = held.get_first_raw_message_by_subject(subject, next).await.map_err(BrokerError::of)?;
        bytes.extend_from_slice(&chunk.payload);
        next = chunk.sequence + 1;
    }
    let found = bytes.len();
    let wrong = || BrokerError::Failed(format!("it has {found} bytes and says to have {size}"));
    if found == size { Ok(bytes) } else { Err(wrong()) }
}

fn check_name(name: &str) -> Result<(), BrokerError> {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'.';
    let is_name = (1..=NAME_LETTERS_MAX).contains(&name.len()) && name.bytes().all(is_plain);
    if is_name { Ok(()) } else { Err(BrokerError::Failed("it has a name that no object has".to_owned())) }
}

fn too_large(bytes: usize) -> BrokerError {
    BrokerError::Failed(format!("{bytes} bytes are more than the {OBJECT_BYTES_MAX} of an object"))
}
