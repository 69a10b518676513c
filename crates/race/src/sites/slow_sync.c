/* A disk whose sync takes SLOW_SYNC_MILLIS longer than this machine's: loaded in front of libc, it sleeps in fsync and
 * fdatasync and then has the kernel sync as ever. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void) {
    const char *text = getenv("SLOW_SYNC_MILLIS");
    long millis = text ? strtol(text, NULL, 10) : 0;
    struct timespec time = {millis / 1000, millis % 1000 * 1000000L};
    while (nanosleep(&time, &time) != 0) {
    }
}

int fsync(int file) {
    wait_for_disk();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, file);
}
