//! Guards what operators do: start, stop, accounts, configuration, rebuilding, documents.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStdout, Stdio};

use common::Folder;
use common::serving::{CONTINUE, DATA, Guarded, HTTP_ALONE, Serving, mail};

#[test]
fn what_was_acknowledged_is_there_after_a_stop_and_after_a_kill() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    let first = Serving::start(&folder);
    let token = first.said["token_files"][0].as_str().expect("a path").to_owned();
    assert!(std::path::Path::new(&token).is_file());
    assert_eq!(first.run("report a.eml").code, 0);
    first.stop();
    assert!(!std::path::Path::new(&token).exists(), "an operator's token is good for one server");
    let mut second = Serving::start(&folder);
    assert_eq!(second.verdict("a.eml").1, 10);
    assert_eq!(second.run("report b.eml").code, 0);
    second.process.signal("KILL");
    second.process.wait();
    let third = Serving::start(&folder);
    assert_eq!((third.verdict("a.eml").1, third.verdict("b.eml").1), (10, 10));
    assert!(third.said["recovery"].is_array());
}

/// A server that speaks to people, and what it says.
fn greeted(folder: &Folder) -> (Guarded, BufReader<ChildStdout>, Vec<String>) {
    let mut command = folder.command(&format!("serve --data {DATA} --http 127.0.0.1:0 {HTTP_ALONE}"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("seenit starts");
    let mut process = Guarded(child);
    let mut out = BufReader::new(process.0.stdout.take().expect("piped"));
    let lines: Vec<String> = out.by_ref().lines().map_while(Result::ok).take(5).collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    (process, out, lines)
}

#[test]
fn people_are_told_where_it_listens_and_one_thing_to_try() {
    let folder = Folder::new();
    let (_process, _, lines) = greeted(&folder);
    assert!(lines[0].contains(DATA) && lines[1].contains("http://127.0.0.1:"), "{lines:#?}");
    assert!(lines[2].contains("operator-"), "{lines:#?}");
    assert!(lines[4].contains(" selftest --server http://127.0.0.1:"), "{lines:#?}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new();
    let (mut process, mut out, lines) = greeted(&folder);
    // A request whose body never comes holds the first signal up.
    let (_, address) = lines[1].split_once("http://").expect("an address");
    let mut held = TcpStream::connect(address).expect("it listens");
    let head = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\n\
                Expect: 100-continue\r\nContent-Length: 9\r\n\r\n";
    held.write_all(head.as_bytes()).expect("sent");
    let mut told = [0; CONTINUE.len()];
    held.read_exact(&mut told).expect("an answer");
    assert_eq!(&told, CONTINUE, "it waits for the body");
    process.signal("TERM");
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    assert_eq!(line, "Stopping.\n");
    process.signal("TERM");
    assert_eq!(process.wait().code(), Some(128 + 15));
}

#[test]
fn two_servers_do_not_share_a_folder_nor_a_port() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let second = folder.run(&format!("serve --data {DATA} --http 127.0.0.1:0 {HTTP_ALONE}"));
    second.refused(69, "another seenit is using this folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound");
    folder
        .run(&format!("serve --data other --http {address} {HTTP_ALONE}"))
        .refused(69, &address.to_string());
    assert_eq!(serving.run("stats").code, 0, "the first is not disturbed");
    assert!(!folder.path("other/identity.json").exists(), "nothing is made where nothing can be served");
}

#[test]
fn accounts_do_what_their_roles_say_and_no_more() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    let added = serving.run("account add mx1 --role report --weight 10");
    assert_eq!((added.code, added.out.lines().count()), (0, 1), "{}", added.err);
    assert!(added.out.starts_with("seenit_"), "the token alone");
    folder.write("mx1.token", &added.out);
    let as_mx1 = |words: &str| serving.run(&format!("{words} --token-file mx1.token"));
    assert_eq!(as_mx1("report a.eml").code, 0);
    assert_eq!(serving.verdict("a.eml").1, 10);
    let revoked = as_mx1("revoke a.eml");
    assert_eq!(revoked.code, 77);
    assert!(revoked.err.contains("does not have the role revoke"), "{}", revoked.err);
    as_mx1("account list").refused(77, "does not have the role admin");
    let list = serving.run("account list --json").json();
    let names: Vec<_> =
        list["accounts"].as_array().expect("a list").iter().map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&Some("mx1")) && names.contains(&Some("operator")), "{names:?}");
    let renewed = serving.run("account token mx1");
    assert_ne!(renewed.out, added.out);
    assert_eq!(as_mx1("report a.eml").code, 77, "the old token is nobody's");
    assert!(serving.run("account weight mx1 3").out.contains("weight 3 (fixed)"));
    assert_eq!(serving.run("account undo mx1").out, "1 opinion of mx1 is taken back\n");
    assert_eq!(serving.verdict("a.eml").0, "unknown");
    assert_eq!(serving.run("account remove mx1").code, 0);
    serving.run("account remove mx1").refused(77, "mx1");
    serving.run("account remove ../stats").refused(77, "404");
    folder.run("account add mx2 --role owner").refused_as_usage();
}

#[test]
fn tokens_come_from_the_environment_too() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let token = serving.run("account add mx1").out;
    let run = |token: &str| {
        let mut command = folder.command("account list");
        command.env("SEENIT_SERVER", serving.url()).env("SEENIT_TOKEN", token).output().expect("it ends")
    };
    let refused = run(&token);
    assert_eq!(refused.status.code(), Some(77), "mx1 is no admin");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("role admin"));
    assert_eq!(run("two words").status.code(), Some(65));
}

#[test]
fn a_configuration_is_shown_and_its_bad_line_is_named() {
    let folder = Folder::new();
    let shown = folder.run("config show");
    assert_eq!(shown.code, 0);
    folder.write("seenit.toml", &shown.out);
    assert_eq!(folder.run("config check seenit.toml").out, "seenit.toml: all is well\n");
    folder.write("bad.toml", "[ledger]\nquorum = 10\nqorum = 12\n");
    folder.run("config check bad.toml").refused(78, "bad.toml:3: ");
    folder.write("worse.toml", "[ledger]\n\nbulk_threshold = 1\n");
    folder.run("config check worse.toml").refused(78, "worse.toml:3: ledger.bulk_threshold = 1");
    folder.run(&format!("serve --data {DATA} --config worse.toml")).refused(78, "worse.toml:3: ");
    folder.run("config check nowhere.toml").refused(66, "nowhere.toml");
}

#[test]
fn config_check_opens_the_files_it_names_and_tells_all_that_is_wrong() {
    let folder = Folder::new();
    let made = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let (one, other) = (made("one.example"), made("other.example"));
    folder.write("one.pem", one.cert.pem());
    folder.write("one.key", one.signing_key.serialize_pem());
    folder.write("other.key", other.signing_key.serialize_pem());
    folder.write("list", "ok ip 192.0.2.1\n");
    folder.write("text", "nothing of the kind\n");
    let path = |name: &str| folder.path(name).display().to_string();
    let check = |tls: [&str; 2], list: &str, more: &str| {
        let [certificate, key] = tls.map(path);
        let list = path(list);
        let text = format!(
            "[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n[dcc]\nwhitelist = {list:?}\n{more}"
        );
        folder.write("files.toml", text);
        folder.run("config check files.toml")
    };
    assert_eq!(check(["one.pem", "one.key"], "list", "").code, 0);
    check(["one.pem", "other.key"], "list", "").refused(78, "files.toml:3: tls.key = ");
    check(["one.pem", "one.key"], "text", "").refused(78, "files.toml:5: dcc.whitelist = ");
    check(["text", "one.key"], "list", "").refused(78, "files.toml:2: tls.certificate = ");
    let network = format!("[network]\ncredentials = {:?}\nca = {:?}\n", path("text"), path("nowhere"));
    let all = check(["nowhere.pem", "text"], "nowhere", &network);
    assert_eq!((all.code, all.out.as_str(), all.err.lines().count()), (78, "", 5), "{}", all.err);
    for key in ["tls.certificate", "tls.key", "dcc.whitelist", "network.credentials", "network.ca"] {
        assert!(all.err.lines().any(|line| line.contains(&format!(": {key} = \"/"))), "{key}: {}", all.err);
    }
}

#[test]
fn config_check_says_whether_the_data_folder_can_be_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("seenit.toml", "");
    let check = |data: &str| folder.run(&format!("config check seenit.toml --data {data}"));
    assert_eq!(check("not/there/yet").code, 0, "it will be made");
    assert!(!folder.path("not").exists(), "and is not made by looking");
    check("seenit.toml").refused(78, "--data seenit.toml: ");
    std::fs::create_dir(folder.path("open")).expect("a folder");
    folder.write("open/file", "in use");
    std::fs::set_permissions(folder.path("open"), std::fs::Permissions::from_mode(0o755))
        .expect("an owner may");
    check("open").refused(78, "others may read it (mode 755)");
    std::fs::set_permissions(folder.path("open"), std::fs::Permissions::from_mode(0o700))
        .expect("an owner may");
    assert_eq!(check("open").code, 0);
}

#[test]
fn a_configuration_is_obeyed() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[ledger]\nbulk_threshold = 3\n");
    folder.write("a.eml", mail(1));
    let serving = Serving::start_with(&folder, "--config seenit.toml");
    assert_eq!(serving.run("see --recipients 3 a.eml").code, 0);
    assert_eq!(serving.verdict("a.eml").1, 11);
}

#[test]
fn a_rebuilt_folder_of_another_size_says_the_same() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    let rebuild = format!("rebuild --data {DATA} --capacity 20000 --json");
    folder.run(&rebuild).refused(66, DATA);
    let serving = Serving::start(&folder);
    assert_eq!(serving.run("report a.eml").code, 0);
    folder.run(&rebuild).refused(69, "another seenit is using this folder");
    serving.stop();
    let stats = folder.run(&rebuild).json();
    assert_eq!((stats["capacity"].as_u64(), stats["signatures"].as_u64() > Some(0)), (Some(20_000), true));
    assert_eq!(folder.run(&format!("check --local {DATA} a.eml")).code, 10);
    assert_eq!(Serving::start(&folder).verdict("a.eml").1, 10);
    folder.run(&format!("rebuild --data {DATA} --capacity 1")).refused(2, "ledger.capacity = 1");
}

#[test]
fn a_journal_without_its_keys_is_not_served_with_new_ones() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    assert_eq!(serving.run("account add mx1 --role check").code, 0);
    assert_eq!(serving.run("account secret mx1 pyzor").code, 0);
    folder.write("1.eml", mail(1));
    assert_eq!(serving.run("report 1.eml").code, 0);
    serving.stop();
    let serve = || folder.run(&format!("serve --data {DATA} --http 127.0.0.1:0 {HTTP_ALONE}"));
    let aside =
        |name: &str| std::fs::rename(folder.path(DATA).join(name), folder.path("aside")).expect("ours");
    let back =
        |name: &str| std::fs::rename(folder.path("aside"), folder.path(DATA).join(name)).expect("ours");
    aside("identity.json");
    let lost = "cannot open the data folder data: identity.json is missing, but there is a journal";
    serve().refused(65, lost);
    assert!(!folder.path(DATA).join("identity.json").exists(), "no new keys");
    back("identity.json");
    aside("secrets.key");
    serve().refused(65, "secrets.key: it is missing, but there is a secrets.json");
    back("secrets.key");
    aside("accounts.json");
    Serving::start(&folder).stop();
    let log = String::from_utf8(folder.read("log")).expect("text");
    assert!(log.contains("accounts.json is missing, but these reporters have spoken"), "{log}");
    assert!(log.contains("mx1"), "{log}");
}

#[test]
fn the_operator_s_account_is_built_in_and_says_so() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    for name in ["operator", "local"] {
        let said = format!("{name} is built in and cannot be removed");
        serving.run(&format!("account remove {name}")).refused(77, &said);
    }
    serving.run("account weight operator 3").refused(65, "the operator's opinion always weighs 10");
    assert_eq!(serving.run("account weight operator 10").code, 0);
}

#[test]
fn a_number_out_of_its_range_is_refused_in_words() {
    let folder = Folder::new();
    for (command, says) in [
        ("check --see -1 a.eml", "must be a number from 0 to "),
        ("account weight mx1 -1", "must be a number from 0 to 10"),
        ("account weight mx1 11", "must be a number from 0 to 10"),
        ("account add mx1 --weight many", "must be a number from 0 to 10"),
        ("see --recipients 0 a.eml", "must be a number, 1 or more"),
        ("network admit one --spam -1", "must be a number from 0 to "),
    ] {
        let ran = folder.run(command);
        ran.refused_as_usage();
        assert!(ran.err.contains(says), "{command}: {}", ran.err);
    }
}

#[test]
fn a_stale_token_is_named_by_where_it_came_from() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("stale", "seenit_stale\n");
    serving.run("stats --token-file stale").refused(77, "the token is from --token-file stale");
    let mut command = folder.command(&format!("stats --server {}", serving.url()));
    let ran = command.env("SEENIT_TOKEN", "seenit_stale").output().expect("seenit runs");
    let said = String::from_utf8(ran.stderr).expect("text");
    assert!(said.contains("the token is from SEENIT_TOKEN"), "{said}");
    assert!(said.contains("a restart of the server makes a new operator token"), "{said}");
}

#[test]
fn a_pyzor_secret_comes_with_the_line_that_a_client_needs() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    assert_eq!(serving.run("account add mx1").code, 0);
    let ran = serving.run("account secret mx1 pyzor");
    assert!(ran.err.contains("HOST : PORT : mx1 : ,SECRET"), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 1, "the secret alone: {}", ran.out);
}

#[test]
fn what_is_wrong_with_a_configuration_is_said_with_what_to_write() {
    let folder = Folder::new();
    for (text, says) in [
        ("[http]\nlissten = []\n", "a.toml:2: http.lissten: unknown key: did you mean `listen`?"),
        ("[http]\nquorum = 3\n", "a.toml:2: http.quorum: unknown key: `quorum` belongs in [ledger]"),
        ("[legder]\n", "unknown section `legder`: did you mean [ledger]?"),
        ("[ledger]\nquorum = \"ten\"\n", "ledger.quorum: must be a whole number, not text \"ten\""),
        ("[http]\nlisten = [\"127.0.0.1\"]\n", "must be an address with a port"),
    ] {
        folder.write("a.toml", text);
        folder.run("config check a.toml").refused(78, says);
    }
    folder.write("a.toml", b"[http]\n# \xff\n");
    folder.run("config check a.toml").refused(78, "it is not UTF-8 text");
}

#[test]
fn what_is_not_there_is_said_before_anybody_is_asked() {
    let folder = Folder::new();
    folder.write("keys", "a\nb\n");
    folder.run("explain --kind pyzor --digest zz").refused(65, "a digest is hexadecimal digits");
    folder.run("stats --server http://127.0.0.1:9 --ca nosuch.pem").refused(66, "cannot open nosuch.pem");
    let filter = folder.run("filter build --keys keys -o nosuch/x.filter");
    filter.refused(73, "cannot write nosuch/x.filter: there is no folder nosuch: make it first");
    let no_network = "cannot open admin/admin.key: there is no network in this folder; make one with";
    folder.run("network status").refused(66, no_network);
}

#[test]
fn every_group_of_commands_has_an_example_and_each_verb_its_own() {
    let folder = Folder::new();
    for group in ["account", "network", "filter", "words", "config", "clock"] {
        let help = folder.run(&format!("{group} --help")).out;
        assert!(help.contains("Example") && help.contains(&format!("seenit {group} ")), "{help}");
    }
    assert!(!folder.run("revoke --help").out.contains("seenit report "));
    assert!(folder.run("explain --help").out.contains("possible values: exact1, "));
}

#[test]
fn a_file_or_a_maildir_is_no_data_folder() {
    let folder = Folder::new();
    folder.write("file", "");
    folder.write("1.eml", mail(1));
    std::fs::create_dir_all(folder.path("Maildir/cur")).expect("a folder");
    folder.run("serve --data file --http 127.0.0.1:0").refused(65, "file: this is no folder");
    let said = "Maildir is no data folder of seenit (it has no identity.json)";
    folder.run("check --local Maildir 1.eml").refused(66, said);
}

#[test]
fn a_backup_that_is_put_back_gives_no_name_of_a_record_twice() {
    let folder = Folder::new();
    for number in 1..=3 {
        folder.write(&format!("{number}.eml"), mail(number));
    }
    let name = |serving: &Serving<'_>, file: &str| {
        let told = serving.run(&format!("report --json {file}")).json();
        told.to_string().split('"').find(|text| text.split('-').count() == 3).expect("a name").to_owned()
    };
    let first = Serving::start(&folder);
    let kept = name(&first, "1.eml");
    first.stop();
    let restore = format!("restore backup --data {DATA} --json");
    folder.run(&restore).refused(66, "backup/identity.json");
    std::fs::create_dir(folder.path("elsewhere")).expect("a folder");
    let no_backup = "cannot restore from elsewhere: it is no data folder of seenit (no identity.json in it)";
    folder.run(&format!("restore elsewhere --data {DATA}")).refused(66, no_backup);
    let copied =
        std::process::Command::new("cp").args(["-a", DATA, "backup"]).current_dir(folder.path("")).status();
    assert!(copied.expect("cp runs").success());
    folder.run(&restore).refused(65, "there is data in it already");
    let second = Serving::start(&folder);
    folder.run(&format!("restore --data {DATA}")).refused(69, "another seenit is using this folder");
    folder.run(&restore).refused(69, "data: another seenit is using this folder: stop it first");
    let lost = name(&second, "2.eml");
    second.stop();
    std::fs::rename(folder.path(DATA), folder.path("old")).expect("moved away");
    let told = folder.run(&restore).json();
    assert!(told["incarnation"].as_u64() > told["incarnation_before"].as_u64(), "{told}");
    assert_eq!((&told["records"], &told["backup"]), (&1.into(), &"backup".into()));
    let third = Serving::start(&folder);
    let fresh = name(&third, "3.eml");
    assert!(fresh != lost && lost != kept, "{kept}, {lost}, {fresh}");
    assert_eq!(third.run(&format!("receipt {kept}")).code, 0, "a name from before the backup");
    assert_ne!(third.run(&format!("receipt {lost}")).code, 0, "a name from after it");
    third.stop();
    let text = folder.run(&format!("restore --data {DATA}")).out;
    assert!(text.contains("incarnation") && text.contains("has ended"), "{text}");
}

#[test]
fn statistics_snapshots_and_the_clock_are_an_operator_s_to_ask_for() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let stats = serving.run("stats --json").json();
    assert!(stats["version"].is_string() && stats["capacity"].as_u64() > Some(0), "{stats}");
    assert!(serving.run("stats").out.contains("\nsnapshot      none yet\n"));
    assert_eq!(serving.run("snapshot").out, "A snapshot is written.\n");
    assert!(serving.run("stats").out.contains(" s ago\n"));
    assert_eq!(serving.run("clock confirm").out, "The present time is confirmed.\n");
}

#[test]
fn every_command_has_an_example() {
    let folder = Folder::new();
    let commands = [
        "serve",
        "check",
        "report",
        "revoke",
        "withdraw",
        "see",
        "explain",
        "receipt",
        "protect",
        "stats",
        "sites",
        "account list",
        "account add",
        "account remove",
        "account token",
        "account standing",
        "account weight",
        "account undo",
        "selftest",
        "rebuild",
        "restore",
        "clock confirm",
        "snapshot",
        "config check",
        "config show",
        "completions",
        "man",
    ];
    for command in commands {
        let help = folder.run(&format!("{command} --help"));
        assert_eq!(help.code, 0, "{command}");
        assert!(
            help.out.contains("Example") && help.out.contains(&format!("seenit {command}")),
            "{}",
            help.out
        );
    }
}

#[test]
fn shells_and_man_are_served() {
    let folder = Folder::new();
    let bash = folder.run("completions bash");
    assert!(bash.code == 0 && bash.out.contains("selftest"));
    assert!(folder.run("man").out.contains(".TH seenit 1"));
    assert_eq!(folder.run("man --output pages").code, 0);
    for page in ["seenit.1", "seenit-serve.1", "seenit-account-add.1"] {
        assert!(folder.path("pages").join(page).is_file(), "{page}");
    }
}
