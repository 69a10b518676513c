//! A memory cgroup of its own for one process, where the system lets us make one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// A group with a limit, removed when it is dropped. Nobody is in it until a process [joins](join).
pub(super) struct Group {
    pub(super) folder: PathBuf,
    /// `cgroup-v2` or `cgroup-v1`.
    pub(super) version: &'static str,
}

/// Where a group can be made, and the file that takes its limit.
struct Place {
    parent: PathBuf,
    limit_file: &'static str,
    version: &'static str,
}

impl Group {
    /// A group whose processes may have `limit_bytes` of memory in all, their cached files included. The error
    /// says, for people, why there can be none.
    pub(super) fn new(limit_bytes: u64) -> Result<Self, String> {
        let place = place()?;
        let folder = place.parent.join(format!("seenit-lab-{}", process::id()));
        fs::create_dir(&folder).map_err(|error| refused(&folder, &error))?;
        let group = Group { folder, version: place.version };
        let limit = group.folder.join(place.limit_file);
        fs::write(&limit, limit_bytes.to_string()).map_err(|error| refused(&limit, &error))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that is still there limits nobody, because nobody is in it: no reason to fail.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Moves this process into a group.
pub(super) fn join(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.procs"), process::id().to_string())
}

fn refused(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Looks where this process is now: below that (version 1) or beside it (version 2, where a group with processes in
/// it may not have groups below), so that limits already set go on to hold.
fn place() -> Result<Place, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| refused(Path::new(path), &error));
    let mounts = read("/proc/self/mounts")?;
    let groups = read("/proc/self/cgroup")?;
    find_v2(&mounts, &groups)
        .filter(|place| has_memory(&place.parent))
        .or_else(|| find_v1(&mounts, &groups))
        .ok_or_else(|| "this system has no memory cgroups that this process could see".to_owned())
}

/// Whether groups below `parent` can have their memory limited (version 2).
fn has_memory(parent: &Path) -> bool {
    fs::read_to_string(parent.join("cgroup.subtree_control")).is_ok_and(|controllers| {
        controllers.split_ascii_whitespace().any(|controller| controller == "memory")
    })
}

fn find_v2(mounts: &str, groups: &str) -> Option<Place> {
    let mount = mount_of(mounts, "cgroup2", None)?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let beside = Path::new(own).parent().unwrap_or(Path::new(""));
    Some(Place { parent: mount.join(beside), limit_file: "memory.max", version: "cgroup-v2" })
}

fn find_v1(mounts: &str, groups: &str) -> Option<Place> {
    let mount = mount_of(mounts, "cgroup", Some("memory"))?;
    let of_memory = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers
            .split(',')
            .any(|controller| controller == "memory")
            .then(|| path.trim_start_matches('/').to_owned())
    };
    let own = groups.lines().find_map(of_memory)?;
    Some(Place { parent: mount.join(own), limit_file: "memory.limit_in_bytes", version: "cgroup-v1" })
}

/// Where a file system of this type, and with this option, is mounted.
fn mount_of(mounts: &str, kind: &str, option: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, folder, of_kind, options, ..] = fields[..] else { return None };
        let fits = of_kind == kind && option.is_none_or(|option| options.split(',').any(|one| one == option));
        fits.then(|| PathBuf::from(folder))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_version_two_stands_beside_our_own() {
        let mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let parent = |groups| find_v2(mounts, groups).expect("found").parent;
        assert_eq!(
            parent("0::/user.slice/app.slice/shell.scope\n"),
            Path::new("/sys/fs/cgroup/user.slice/app.slice")
        );
        assert_eq!(parent("0::/\n"), Path::new("/sys/fs/cgroup/"));
        assert!(find_v1(mounts, "0::/\n").is_none());
    }

    #[test]
    fn a_group_of_version_one_stands_below_our_own() {
        let mounts = "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/memory cgroup rw,relatime,memory 0 0\n";
        let place = find_v1(mounts, "5:cpu:/\n4:memory:/job/7\n0::/\n").expect("found");
        assert_eq!(
            (place.parent.as_path(), place.limit_file),
            (Path::new("/cg/memory/job/7"), "memory.limit_in_bytes")
        );
        assert!(find_v1(mounts, "5:cpu:/\n").is_none());
    }
}
