//! The generator: one socket, and always as many questions on their way.
//!
//! Questions go out and answers come in many to a system call, on one thread. An answer waits for its batch, so times
//! are never too short.

use std::error::Error;
use std::io::{IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg};

use super::question::{Question, TAGS};

/// Questions on their way. With more of them rspamd's socket was seen to overflow.
const WINDOW: usize = 64;
/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 512;
/// Who says nothing for so long does not say it any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a lap took.
pub(crate) struct Measured {
    /// Right answers.
    pub(crate) right: u64,
    /// Questions that got another answer, or none.
    pub(crate) wrong: u64,
    /// One of the wrong answers, if there was any.
    pub(crate) example: Option<String>,
    pub(crate) secs: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

pub(crate) struct Generator {
    socket: UdpSocket,
    incoming: MultiHeaders<SockaddrIn>,
    outgoing: MultiHeaders<SockaddrIn>,
    questions: Vec<Vec<u8>>,
    answers: Vec<Vec<u8>>,
    lengths: Vec<usize>,
    /// What was asked under each tag and not answered yet, and when.
    waiting: Vec<Option<(u64, Instant)>>,
    next_tag: u16,
}

impl Generator {
    pub(crate) fn new(server: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Generator {
            socket,
            incoming: MultiHeaders::preallocate(WINDOW, None),
            outgoing: MultiHeaders::preallocate(WINDOW, None),
            questions: vec![Vec::new(); WINDOW],
            answers: vec![vec![0; ANSWER_BYTES_MAX]; WINDOW],
            lengths: Vec::new(),
            waiting: vec![None; TAGS.len()],
            next_tag: TAGS.start,
        })
    }

    /// Asks about one number after the other until there are no more or the time is up, and waits for all answers.
    pub(crate) fn measure(
        &mut self,
        question: Question,
        mut numbers: impl Iterator<Item = u64>,
        time: Duration,
    ) -> Result<Measured, Box<dyn Error>> {
        let mut times = Vec::new();
        let mut wrong = 0;
        let mut example = None;
        let start = Instant::now();
        let mut on_their_way = 0;
        let mut now = start;
        let mut is_over = false;
        loop {
            let asked =
                if is_over { 0 } else { self.ask(question, &mut numbers, WINDOW - on_their_way, now)? };
            on_their_way += asked;
            if on_their_way == 0 {
                break;
            }
            if !self.receive()? {
                wrong += on_their_way as u64;
                example.get_or_insert(format!("{on_their_way} were not answered"));
                self.waiting.fill(None);
                break;
            }
            now = Instant::now();
            is_over = now - start >= time;
            for (answer, &bytes) in self.answers.iter().zip(&self.lengths) {
                let answer = &answer[..bytes];
                let place = question.tag_of(answer).and_then(|tag| tag.checked_sub(TAGS.start));
                let waiting = place.and_then(|place| self.waiting.get_mut(usize::from(place)));
                let Some((number, sent)) = waiting.and_then(Option::take) else {
                    return Err(format!("an answer that nobody asked for: {}", shown(answer)).into());
                };
                on_their_way -= 1;
                if question.is_right(number, answer) {
                    times.push(now - sent);
                } else {
                    wrong += 1;
                    example.get_or_insert_with(|| format!("{number}: {}", shown(answer)));
                }
            }
        }
        let secs = start.elapsed().as_secs_f64();
        times.sort_unstable();
        let share =
            |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
        Ok(Measured { right: times.len() as u64, wrong, example, secs, p50: share(0.5), p99: share(0.99) })
    }

    /// Sends as many questions as there is room for, and says how many.
    fn ask(
        &mut self,
        question: Question,
        numbers: &mut impl Iterator<Item = u64>,
        room: usize,
        now: Instant,
    ) -> Result<usize, Box<dyn Error>> {
        let mut asked = 0;
        for (number, datagram) in numbers.by_ref().take(room).zip(&mut self.questions) {
            let tag = self.next_tag;
            self.next_tag = if tag + 1 == TAGS.end { TAGS.start } else { tag + 1 };
            datagram.clear();
            question.write(number, tag, datagram);
            self.waiting[usize::from(tag - TAGS.start)] = Some((number, now));
            asked += 1;
        }
        let mut sent = 0;
        while sent < asked {
            let mut slices = [[IoSlice::new(&[])]; WINDOW];
            let left = &self.questions[sent..asked];
            slices.iter_mut().zip(left).for_each(|(slice, datagram)| *slice = [IoSlice::new(datagram)]);
            let addresses = [None::<SockaddrIn>; WINDOW];
            let socket = self.socket.as_raw_fd();
            let number = left.len();
            let slices = slices[..number].iter();
            let addresses = &addresses[..number];
            let results = sendmmsg(socket, &mut self.outgoing, slices, addresses, [], MsgFlags::empty());
            sent += results?.count();
        }
        Ok(asked)
    }

    /// Waits for answers; false when none comes any more.
    fn receive(&mut self) -> Result<bool, Box<dyn Error>> {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.answers.iter_mut().map(|answer| [IoSliceMut::new(answer)]).collect();
        let socket = self.socket.as_raw_fd();
        let flags = MsgFlags::MSG_WAITFORONE;
        self.lengths.clear();
        match recvmmsg(socket, &mut self.incoming, slices.iter_mut(), flags, None) {
            Ok(received) => {
                self.lengths.extend(received.map(|message| message.bytes));
                Ok(true)
            }
            Err(Errno::EAGAIN) => Ok(false),
            Err(Errno::ECONNREFUSED) => Err("the server is gone".into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// An answer, for people.
fn shown(answer: &[u8]) -> String {
    if answer.is_ascii() { String::from_utf8_lossy(answer).into_owned() } else { hex::encode(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers so many checks of Pyzor; every tenth as if it knew nothing.
    fn forgetful(server: UdpSocket, checks: u32) -> std::io::Result<()> {
        let mut datagram = [0; 512];
        for check in 0..checks {
            let (bytes, from) = server.recv_from(&mut datagram)?;
            let request = String::from_utf8_lossy(&datagram[..bytes]).into_owned();
            let thread = request.lines().find(|line| line.starts_with("Thread: ")).unwrap_or_default();
            let count = u32::from(!check.is_multiple_of(10));
            let head = "Code: 200\nDiag: OK\nPV: 2.1";
            let answer = format!("{head}\n{thread}\nCount: {count}\nWL-Count: 0\n\n");
            server.send_to(answer.as_bytes(), from)?;
        }
        Ok(())
    }

    #[test]
    fn every_question_is_asked_and_wrong_answers_do_not_count() -> Result<(), Box<dyn Error>> {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut generator = Generator::new(server.local_addr()?)?;
        let answering = std::thread::spawn(move || forgetful(server, 1000));
        let measured = generator.measure(Question::PyzorCheck, 0..1000, Duration::MAX)?;
        assert_eq!((measured.right, measured.wrong), (900, 100));
        assert!(measured.example.is_some_and(|example| example.contains("Count: 0")));
        answering.join().expect("the server does not panic")?;
        Ok(())
    }
}
