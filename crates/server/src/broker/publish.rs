//! Publishing in a stream: each message once, and only after the one that is expected.

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use seenit_link::BrokerStream;

use super::{Arrived, Published, Shared, Stream};

/// Messages of one kind that wait. One is under way at a time; a second is the driver's haste.
const WAITING_MAX: usize = 4;

/// What is to be published.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) ticket: u64,
    pub(super) bytes: Bytes,
    /// The number of the site's last message in the stream; 0 if there is none.
    pub(super) expected: u64,
}

/// Starts the task of one kind.
pub(super) fn start(tasks: &mut JoinSet<()>, shared: &Shared, kind: BrokerStream) -> mpsc::Sender<Wanted> {
    let (sender, mut wanted) = mpsc::channel::<Wanted>(WAITING_MAX);
    let shared = shared.clone();
    tasks.spawn(async move {
        while let Some(wanted) = wanted.recv().await {
            let outcome = shared.publish(kind.into(), &wanted).await;
            let _ = shared.arrived.send(Arrived::Published { ticket: wanted.ticket, outcome }).await;
        }
    });
    sender
}

/// Hands it to its task, or says at once that it failed.
pub(super) async fn give(shared: &Shared, task: &mpsc::Sender<Wanted>, wanted: Wanted) {
    if let Err(error) = task.try_send(wanted) {
        let ticket = error.into_inner().ticket;
        let outcome = Published::Failed("too many messages wait already".to_owned());
        let _ = shared.arrived.send(Arrived::Published { ticket, outcome }).await;
    }
}

impl Shared {
    async fn publish(&self, stream: Stream, wanted: &Wanted) -> Published {
        let subject = self.names.spoken(stream, &self.site);
        let sent = self.context.publish_with_headers(subject, headers(wanted), wanted.bytes.clone());
        let acknowledged = async { sent.await?.await };
        match acknowledged.await {
            Ok(acknowledged) => Published::Stored(acknowledged.sequence),
            Err(error) if is_fence(&error) => self.fenced(stream, wanted).await,
            Err(error) => Published::Failed(error.to_string()),
        }
    }

    /// What stands where another message was expected. If it is this very one, an acknowledgement was lost.
    async fn fenced(&self, stream: Stream, wanted: &Wanted) -> Published {
        let subject = self.names.spoken(stream, &self.site);
        let held = match self.context.get_stream_no_info(self.names.stream(stream)).await {
            Ok(held) => held,
            Err(error) => return Published::Failed(error.to_string()),
        };
        match held.get_last_raw_message_by_subject(&subject).await {
            Ok(last) if last.payload == wanted.bytes => Published::Stored(last.sequence),
            Ok(last) => Published::Fenced { last: Some((last.sequence, last.payload)) },
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                Published::Fenced { last: None }
            }
            Err(error) => Published::Failed(error.to_string()),
        }
    }
}

fn is_fence(error: &PublishError) -> bool {
    error.kind() == PublishErrorKind::WrongLastSequence
}

/// A message that is published again has the same id, so that it is no second one.
fn headers(wanted: &Wanted) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, const_hex::encode(Sha256::digest(&wanted.bytes)));
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, wanted.expected.to_string());
    headers
}
