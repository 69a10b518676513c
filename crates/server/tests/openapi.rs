//! docs/reference/openapi.json against a real server: schemathesis makes requests of it, right ones and wrong ones, and
//! every answer must be one that the document describes.
//!
//! It is a Python program, installed into a folder of the build. Where it cannot be had the test says so and passes.

#[path = "http/site.rs"]
#[allow(dead_code)]
mod site;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use site::{Site, config};

/// The version that the document was written against.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// Requests for each operation and phase, at most. The whole run takes about a minute.
const EXAMPLES_MAX: &str = "20";

#[test]
fn every_answer_is_one_that_the_document_describes() {
    let program = match install() {
        Ok(program) => program,
        Err(why) => return eprintln!("skipped: schemathesis cannot be installed here: {why}"),
    };
    let mut config = config();
    config.http.body_secs = 5;
    let site = Site::start(config);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis");
    let output = Command::new(program)
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .arg("run")
        .arg(format!("http://{}/openapi.json", site.address))
        .args(["--max-examples", EXAMPLES_MAX, "--seed", "1", "--no-color"])
        .args(["--header", &format!("Authorization: Bearer {}", site.token)])
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(site.folder.path())
        .output()
        .expect("an installed program runs");
    assert!(output.status.success(), "{}", text(&output));
}

/// A Python environment in the build folder with schemathesis in it.
fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(SCHEMATHESIS);
    let program = folder.join("bin/schemathesis");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(folder.join("bin/pip")).args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            SCHEMATHESIS,
        ]))?;
    }
    Ok(program)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(text(&output)) }
}

/// What a program said, without the ends of lines that hold whole bodies.
fn text(output: &Output) -> String {
    let all =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    all.lines().flat_map(|line| line.chars().take(300).chain(['\n'])).collect()
}
