/* Preloaded, makes every sync of a file take SLOW_SYNC_US microseconds longer, as an ordinary disk would. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_longer(void) {
  static long us = -1;
  if (us < 0) { const char *text = getenv("SLOW_SYNC_US"); us = text ? atol(text) : 0; }
  if (us > 0) { struct timespec span = { us / 1000000, (us % 1000000) * 1000 }; nanosleep(&span, NULL); }
}

int fdatasync(int file) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = next(file);
  wait_longer();
  return result;
}

int fsync(int file) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int result = next(file);
  wait_longer();
  return result;
}
