//! Reading the streams: every message of every site, in order, from where it was left.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{Info, LastRawMessageErrorKind, Stream as Held};
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Arrived, BrokerError, Shared, Stream, StreamPosition};

/// Messages of one stream that are asked for at a time.
const WINDOW: usize = 16;

/// How long to wait for news before a look without any.
const LOOK_SECS: u64 = 10;

/// How long to wait after a failure.
const RETRY_SECS: u64 = 1;

/// Wakes the readers.
pub(super) struct News {
    of: [watch::Sender<()>; Stream::ALL.len()],
}

impl News {
    /// Has all streams looked at.
    pub(super) fn look(&self) {
        self.of.iter().for_each(|stream| stream.send_replace(()));
    }

    fn of(&self, stream: Stream) -> &watch::Sender<()> {
        let [records, seen, documents] = &self.of;
        match stream {
            Stream::Records => records,
            Stream::Seen => seen,
            Stream::Documents => documents,
        }
    }
}

/// Starts a reader for each stream, and the one who listens for news.
pub(super) fn start(tasks: &mut JoinSet<()>, shared: &Shared, after: &[StreamPosition]) -> Arc<News> {
    let news = Arc::new(News { of: Stream::ALL.map(|_| watch::Sender::new(())) });
    let has_documents = Arc::new(watch::Sender::new(false));
    for stream in Stream::ALL {
        let after = after.iter().copied().find(|place| place.stream == stream && stream != Stream::Documents);
        let reader =
            Reader { shared: shared.clone(), stream, at: after, has_documents: has_documents.clone() };
        tasks.spawn(reader.run(news.of(stream).subscribe()));
    }
    let shared = shared.clone();
    let told = news.clone();
    tasks.spawn(async move {
        let Ok(mut heard) = shared.client.subscribe(shared.names.news(None)).await else { return };
        while let Some(message) = heard.next().await {
            if let Some(stream) = shared.names.told_of(&message.subject) {
                told.of(stream).send_replace(());
            }
        }
    });
    news
}

/// Reads one stream.
struct Reader {
    shared: Shared,
    stream: Stream,
    /// The last place that was read.
    at: Option<StreamPosition>,
    /// Whether the signed documents were read: a newcomer that does not know yet who is a member can make nothing of
    /// messages, and would have to ask for them again, one range after the other.
    has_documents: Arc<watch::Sender<bool>>,
}

impl Reader {
    async fn run(mut self, mut news: watch::Receiver<()>) {
        if self.stream != Stream::Documents && self.at.is_none() {
            // The sender lives as long as this reader.
            let _ = self.has_documents.subscribe().wait_for(|has| *has).await;
        }
        loop {
            // What is told from here on, the next pass sees.
            news.mark_unchanged();
            if let Err(why) = self.pass().await {
                tracing::debug!(stream = self.stream.as_str(), %why, "the stream cannot be read now");
                tokio::time::sleep(Duration::from_secs(RETRY_SECS)).await;
                continue;
            }
            if self.stream == Stream::Documents {
                self.has_documents.send_replace(true);
            }
            // News or not: the latter is for those that were lost.
            let _ = tokio::time::timeout(Duration::from_secs(LOOK_SECS), news.changed()).await;
        }
    }

    /// Reads all that is there.
    async fn pass(&mut self) -> Result<(), BrokerError> {
        let name = self.shared.names.stream(self.stream);
        let held = self.shared.context.get_stream_no_info(name).await.map_err(BrokerError::of)?;
        let info = held.get_info().await.map_err(BrokerError::of)?;
        let mut at = self.begin(&info);
        let last = info.state.last_sequence;
        // What has expired is passed over at once.
        at.sequence = at.sequence.max(info.state.first_sequence.saturating_sub(1).min(last));
        self.at = Some(at);
        let wanted = futures_util::stream::iter(at.sequence + 1..=last);
        let got = wanted.map(|sequence| get(&held, sequence)).buffered(WINDOW);
        let mut got = std::pin::pin!(got);
        while let Some(message) = got.next().await {
            let (sequence, message) = message?;
            let place = StreamPosition { sequence, ..at };
            if let Some(message) = message {
                let bytes = message.payload;
                let arrived = Arrived::Bytes { bytes, reply: None, place: Some(place) };
                self.shared.arrived.send(arrived).await.map_err(BrokerError::of)?;
            }
            self.at = Some(place);
        }
        Ok(())
    }

    /// Where to go on: at the beginning, if this is not the stream that was read before.
    fn begin(&self, info: &Info) -> StreamPosition {
        let created = u64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(0);
        match self.at {
            Some(at) if at.created == created && at.sequence <= info.state.last_sequence => at,
            before => {
                if before.is_some() {
                    let stream = self.stream.as_str();
                    tracing::warn!(stream, "the stream was made anew: it is read from its beginning");
                }
                StreamPosition { stream: self.stream, created, sequence: 0 }
            }
        }
    }
}

/// A message that there was when the stream was looked at; nothing if it is gone.
async fn get(held: &Held<()>, sequence: u64) -> Result<(u64, Option<StreamMessage>), BrokerError> {
    let missing = match held.get_raw_message(sequence).await {
        Ok(message) => return Ok((sequence, Some(message))),
        Err(error) => error,
    };
    if missing.kind() != LastRawMessageErrorKind::NoMessageFound {
        return Err(BrokerError::of(missing));
    }
    // It has expired, or a server that has just begun to lead does not know of it yet. The latter is over once the
    // server says that it has come that far.
    let info = held.get_info().await.map_err(BrokerError::of)?;
    if info.state.last_sequence < sequence {
        return Err(BrokerError::Failed(format!("message {sequence} is not there yet")));
    }
    match held.get_raw_message(sequence).await {
        Ok(message) => Ok((sequence, Some(message))),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok((sequence, None)),
        Err(error) => Err(BrokerError::of(error)),
    }
}
