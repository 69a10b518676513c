//! All frames of a zstd file, one after the other. Parallel packers write many into one file, and so does `cat`.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Unpacks frames until the input ends. What is neither a frame nor one to pass over is an error.
pub(crate) struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Frames<R> {
    /// Begins with the first frame: a file without any is no zstd file.
    pub(crate) fn new(packed: R) -> io::Result<Self> {
        let mut frames = Frames { packed, decoder: FrameDecoder::new() };
        frames.next_frame()?;
        Ok(frames)
    }

    /// Reads the header of a frame, or passes over a skippable one.
    fn next_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.packed) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let length = u64::from(length);
                let passed = io::copy(&mut self.packed.by_ref().take(length), &mut io::sink())?;
                if passed < length {
                    let why = format!("a skippable frame of {length} bytes breaks off after {passed}");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                Ok(())
            }
            other => other.map_err(io::Error::other),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            if !self.decoder.is_finished() {
                // One block at a time: no more is held than the window that the frame asks for.
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.packed, blocks).map_err(io::Error::other)?;
            } else if self.packed.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.next_frame()?;
            }
        }
        self.decoder.read(buffer)
    }
}
