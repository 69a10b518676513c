//! The laws of Razor's requests, checked on whatever stream the fuzzer comes up with.
//!
//! No stream may cause a panic. It says the same in one piece and in many, there is always room for more or an error,
//! and a batch has as many queries as it says, which can all be answered at once.

use seenit_wire::razor::{
    BATCH_QUERIES_MAX, DecodeError, Decoder, ErrorCode, Greeting, Listing, RazorAnswer, RazorResponse,
    Request, write_batch,
};

/// The first byte says how long the pieces are and whether mails are taken; the rest is the stream.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let Some((&mode, stream)) = input.split_first() else {
        return;
    };
    // What a client of ours hears: any line is an answer or none.
    let _ = (Greeting::decode(stream), RazorResponse::decode(stream));
    let takes_messages = mode & 1 == 1;
    let piece = usize::from(mode >> 1) + 1;
    let whole = requests(stream, stream.len().max(1), takes_messages);
    assert_eq!(whole, requests(stream, piece, takes_messages), "the pieces of a stream matter");
}

/// All requests of a stream, in words, and the error that ends it.
fn requests(stream: &[u8], piece: usize, takes_messages: bool) -> (Vec<String>, Option<DecodeError>) {
    let mut decoder = Decoder::new();
    decoder.take_messages(takes_messages);
    let mut all = Vec::new();
    for mut bytes in stream.chunks(piece) {
        while !bytes.is_empty() {
            let taken = decoder.feed(bytes);
            assert!(taken > 0, "there is neither room nor an error");
            bytes = &bytes[taken..];
            loop {
                match decoder.next_request() {
                    Ok(Some(request)) => all.push(described(&request)),
                    Ok(None) => break,
                    Err(error) => return (all, Some(error)),
                }
            }
        }
    }
    (all, None)
}

fn described(request: &Request<'_>) -> String {
    match request {
        Request::Query(query) => format!("{query:?}"),
        Request::Batch(batch) => {
            let queries: Vec<_> = batch.queries().collect();
            assert_eq!(queries.len(), batch.len());
            assert!((1..=BATCH_QUERIES_MAX).contains(&queries.len()), "{} queries", queries.len());
            let longest = RazorAnswer::Listed(Listing { confidence: 100, contested: true });
            let answers = queries.iter().map(|query| query.as_ref().map_or(malformed(), |_| longest));
            write_batch(answers, &mut Vec::new()).expect("the answers to a batch fit");
            format!("{queries:?}")
        }
        Request::Upload(mail) => format!("{:?} {:?}", mail.header(), mail.parts().collect::<Vec<_>>()),
    }
}

fn malformed() -> RazorAnswer<'static> {
    RazorAnswer::Error(ErrorCode::Malformed)
}
