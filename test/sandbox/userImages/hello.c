/* A program that needs musl's loader and its libc: what tells a musl image from a static one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char folder[256];
  char *text = strdup(argc > 1 ? argv[1] : "nobody");
  if (text == NULL || getcwd(folder, sizeof folder) == NULL) return 1;
  printf("hello %s of %s in %s\n", text, getenv("HOME"), folder);
  free(text);
  return 0;
}
