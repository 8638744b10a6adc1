/* Preloaded, it moves the wall clock of a process ahead by 90 s as soon as the file exists that CLOCK_AHEAD names.
 * libfaketime 0.9.10 cannot be used: it fails time.sleep of Python 3.11 with EINVAL. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AHEAD_S 90

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = syscall(SYS_clock_gettime, clock, now);
    const char *file = getenv("CLOCK_AHEAD");

    if (status == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
        now->tv_sec += AHEAD_S;
    return status;
}
