/* Faults for one folder of a program that does not know of them. Loaded with LD_PRELOAD; what it does is said by the
 * environment:
 *
 *   FAULTS_FOLDER  only files under this folder are touched
 *   FAULTS_WRITE   every Nth write fails with EIO, having written nothing or half
 *   FAULTS_SYNC    every Nth sync fails with EIO
 *   FAULTS_SPACE   after so many bytes every write fails with ENOSPC
 *   FAULTS_SWITCH  the two above work only while this file exists (it lies elsewhere)
 *   FAULTS_UNDO    a folder: what a power failure would take away is kept there, a file for each inode, until it is synced
 *
 * An undo file is a sequence of entries: offset (8 bytes), length (8 bytes), the bytes that were there. An entry of offset
 * 2^64 - 1 has the length that the file had. They are applied from the last to the first. Names are not undone: a file
 * that was made, renamed or removed stays so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;
static uint64_t writes, syncs, written;

static uint64_t number(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static int is_on(void) {
    const char *file = getenv("FAULTS_SWITCH");
    return !file || access(file, F_OK) == 0;
}

/* Whether a descriptor is a regular file of the folder; its state then. */
static int is_ours(int fd, struct stat *state) {
    char link[64], path[4096];
    const char *folder = getenv("FAULTS_FOLDER");
    if (inside || !folder || fstat(fd, state) != 0 || !S_ISREG(state->st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int undo_file(const struct stat *state, int flags) {
    char path[4096];
    const char *folder = getenv("FAULTS_UNDO");
    if (!folder) return -1;
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long)state->st_ino);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0600);
}

/* Keeps what a write of these bytes will change. */
static void keep(int fd, const struct stat *state, uint64_t offset, uint64_t length) {
    int undo = undo_file(state, 0);
    if (undo < 0) return;
    uint64_t size = state->st_size, entry[2] = {UINT64_MAX, size};
    uint64_t known = offset < size ? (offset + length < size ? length : size - offset) : 0;
    char *bytes = malloc(sizeof entry + sizeof entry + known);
    if (bytes) {
        memcpy(bytes, entry, sizeof entry);
        entry[0] = offset;
        entry[1] = known;
        memcpy(bytes + sizeof entry, entry, sizeof entry);
        ssize_t got = known ? pread(fd, bytes + 2 * sizeof entry, known, offset) : 0;
        if (got == (ssize_t)known) {
            ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
            if (real(undo, bytes, 2 * sizeof entry + known) < 0) perror("faults: undo");
        }
        free(bytes);
    }
    close(undo);
}

/* Says how many of the bytes may be written, or -1 with errno. */
static ssize_t allowed(size_t count) {
    uint64_t every = number("FAULTS_WRITE"), space = number("FAULTS_SPACE");
    if (!is_on()) return count;
    if (space && written + count > space) {
        errno = ENOSPC;
        return -1;
    }
    if (every && ++writes % every == 0) {
        if (writes / every % 2 == 0 && count > 1) return count / 2;
        errno = EIO;
        return -1;
    }
    return count;
}

static ssize_t put(int fd, const void *bytes, size_t count, off_t offset, int is_positioned) {
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    ssize_t (*real_pwrite)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    struct stat state;
    if (!is_ours(fd, &state))
        return is_positioned ? real_pwrite(fd, bytes, count, offset) : real_write(fd, bytes, count);
    pthread_mutex_lock(&lock);
    inside = 1;
    ssize_t may = allowed(count), done = -1;
    int why = errno;
    if (may >= 0) {
        off_t at = offset;
        if (!is_positioned) at = fcntl(fd, F_GETFL) & O_APPEND ? state.st_size : lseek(fd, 0, SEEK_CUR);
        if (fstat(fd, &state) == 0) keep(fd, &state, at, may);
        done = is_positioned ? real_pwrite(fd, bytes, may, offset) : real_write(fd, bytes, may);
        why = errno;
        if (done > 0) written += done;
    }
    inside = 0;
    pthread_mutex_unlock(&lock);
    errno = why;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return put(fd, bytes, count, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return put(fd, bytes, count, offset, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return put(fd, bytes, count, offset, 1); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t (*real)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "writev");
    struct stat state;
    if (!is_ours(fd, &state)) return real(fd, parts, count);
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return put(fd, parts[i].iov_base, parts[i].iov_len, 0, 0);
    return 0;
}

static int shorten(int fd, off64_t length) {
    int (*real)(int, off64_t) = dlsym(RTLD_NEXT, "ftruncate64");
    struct stat state;
    if (!is_ours(fd, &state)) return real(fd, length);
    pthread_mutex_lock(&lock);
    inside = 1;
    uint64_t from = length < state.st_size ? length : state.st_size;
    keep(fd, &state, from, state.st_size - from);
    int done = real(fd, length), why = errno;
    inside = 0;
    pthread_mutex_unlock(&lock);
    errno = why;
    return done;
}

int ftruncate(int fd, off_t length) { return shorten(fd, length); }
int ftruncate64(int fd, off64_t length) { return shorten(fd, length); }

static int sync_with(const char *name, int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    struct stat state;
    if (!is_ours(fd, &state)) return real(fd);
    pthread_mutex_lock(&lock);
    inside = 1;
    uint64_t every = number("FAULTS_SYNC");
    int done, why = EIO;
    if (every && is_on() && ++syncs % every == 0) {
        done = -1;
    } else {
        done = real(fd);
        why = errno;
        int undo = done == 0 ? undo_file(&state, O_TRUNC) : -1;
        if (undo >= 0) close(undo);
    }
    inside = 0;
    pthread_mutex_unlock(&lock);
    errno = why;
    return done;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
