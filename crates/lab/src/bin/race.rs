//! The races, as a program of the lab: `cargo run --release -p seenit-lab --bin race`. All of it is in `crates/race`.

fn main() -> std::process::ExitCode {
    seenit_race::main()
}
