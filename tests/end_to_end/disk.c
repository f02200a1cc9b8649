/* A disk that fails when it is told to, and that remembers what it was given; loaded before the C library.

   Every call that changes a file below one directory is counted, may be made to fail, and is written to a trace: a
   line `kind offset length path`, then `length` bytes. Kinds: C a name was made, W written, X cut or grown to offset,
   S synced, F a sync failed, R renamed (the bytes are the new path), U removed, T told to somebody. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ONCE, STAYS, SHORT, TORN }; /* SHORT: half is written, which is no error; TORN: and the rest does not fit */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1, how, error_number, rest_fails;
static char counted; /* 'W' counts what writes, 'S' what syncs */
static long nth, count, fired;

void disk_arm(const char *directory, int trace_fd, int kind, long number, int manner, int error) {
    snprintf(root, sizeof root, "%s/", directory);
    root_length = strlen(root);
    trace = trace_fd, counted = (char)kind, nth = number, how = manner, error_number = error;
    count = fired = rest_fails = 0;
}

long disk_fired(void) { return fired; }

static void put(const void *data, size_t length) {
    const char *at = data;
    while (length > 0) {
        long done = syscall(SYS_write, trace, at, length);
        if (done <= 0) _exit(99); /* a trace with a hole would prove nothing */
        at += done, length -= (size_t)done;
    }
}

static void note(char kind, long long offset, const void *data, size_t length, const char *path) {
    char line[PATH_MAX + 64];
    if (trace < 0) return;
    int size = snprintf(line, sizeof line, "%c %lld %zu %s\n", kind, offset, length, path);
    put(line, (size_t)size);
    put(data, length);
}

void disk_tell(const char *data, size_t length) {
    pthread_mutex_lock(&lock);
    note('T', 0, data, length, "-");
    pthread_mutex_unlock(&lock);
}

static int ours(int fd, char *path) {
    char link[64];
    if (root_length == 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, root, root_length) == 0 /* or the directory itself */
        || ((size_t)length == root_length - 1 && strncmp(path, root, root_length - 1) == 0);
}

/* Whether this call is one that fails now. */
static int fails(char kind) {
    if (kind != counted) return 0;
    if (rest_fails) { rest_fails = 0; return 1; }
    count++;
    if (count == nth || (how == STAYS && fired)) { fired++; return 1; }
    return 0;
}

typedef ssize_t (*write_call)(int, const void *, size_t);
typedef ssize_t (*pwrite_call)(int, const void *, size_t, off64_t);
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

static ssize_t put_down(int fd, const void *data, size_t size, off64_t offset, int placed) {
    char path[PATH_MAX];
    struct stat64 state;
    write_call plain = NEXT(write_call, "write");
    pwrite_call at = NEXT(pwrite_call, "pwrite64");
    if (fd == trace || size == 0 || !ours(fd, path)) return placed ? at(fd, data, size, offset) : plain(fd, data, size);
    pthread_mutex_lock(&lock);
    if (!placed) {
        offset = lseek64(fd, 0, SEEK_CUR);
        if ((fcntl(fd, F_GETFL) & O_APPEND) && fstat64(fd, &state) == 0) offset = state.st_size;
    }
    ssize_t done = -1;
    int second = rest_fails;
    if (fails('W')) {
        if (how == SHORT || (how == TORN && !second && size > 1)) {
            size -= size / 2;
            rest_fails = how == TORN;
        } else {
            errno = error_number;
            goto end;
        }
    }
    done = placed ? at(fd, data, size, offset) : plain(fd, data, size);
    int kept = errno;
    if (done > 0) note('W', offset, data, (size_t)done, path);
    errno = kept;
end:
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return put_down(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return put_down(fd, data, size, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return put_down(fd, data, size, offset, 1); }

static int cut(int fd, off64_t size) {
    char path[PATH_MAX];
    int (*real)(int, off64_t) = NEXT(int (*)(int, off64_t), "ftruncate64");
    if (!ours(fd, path)) return real(fd, size);
    pthread_mutex_lock(&lock);
    int done = -1;
    if (how != SHORT && fails('W')) errno = error_number;
    else if ((done = real(fd, size)) == 0) note('X', size, "", 0, path);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

static int flush(int fd, const char *name) {
    char path[PATH_MAX];
    int (*real)(int) = NEXT(int (*)(int), name);
    if (!ours(fd, path)) return real(fd);
    pthread_mutex_lock(&lock);
    int done = -1, failing = fails('S');
    if (failing) errno = error_number;
    else done = real(fd);
    int kept = errno;
    note(failing ? 'F' : 'S', 0, "", 0, path);
    errno = kept;
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) { return flush(fd, "fsync"); }
int fdatasync(int fd) { return flush(fd, "fdatasync"); }

static int below(const char *path) { return root_length > 0 && strncmp(path, root, root_length) == 0; }

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    int (*real)(int, const char *, int, mode_t) = NEXT(int (*)(int, const char *, int, mode_t), "openat64");
    char found[PATH_MAX];
    struct stat64 state;
    int made = (flags & O_CREAT) && fstatat64(directory, path, &state, 0) != 0;
    int cleared = !made && (flags & O_TRUNC);
    if (made && below(path)) { /* a full disk has no room for a name either */
        pthread_mutex_lock(&lock);
        int failing = how != SHORT && fails('W');
        pthread_mutex_unlock(&lock);
        if (failing) { errno = error_number; return -1; }
    }
    int fd = real(directory, path, flags, mode);
    int kept = errno;
    if (fd >= 0 && (made || cleared) && ours(fd, found)) {
        pthread_mutex_lock(&lock);
        note(made ? 'C' : 'X', 0, "", 0, found);
        pthread_mutex_unlock(&lock);
    }
    errno = kept;
    return fd;
}

#define MODE(mode) mode_t mode = 0; if (flags & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) { MODE(mode) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(mode) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int directory, const char *path, int flags, ...) { MODE(mode) return open_at(directory, path, flags, mode); }
int openat64(int directory, const char *path, int flags, ...) { MODE(mode) return open_at(directory, path, flags, mode); }

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = NEXT(int (*)(const char *, const char *), "rename");
    if (!below(from)) return real(from, to);
    pthread_mutex_lock(&lock);
    int done = -1;
    if (how != SHORT && fails('W')) errno = error_number;
    else if ((done = real(from, to)) == 0) note('R', 0, to, strlen(to), from);
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *path) {
    int (*real)(const char *) = NEXT(int (*)(const char *), "unlink");
    if (!below(path)) return real(path);
    pthread_mutex_lock(&lock);
    int done = real(path);
    if (done == 0) note('U', 0, "", 0, path);
    pthread_mutex_unlock(&lock);
    return done;
}
