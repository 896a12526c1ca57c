/** Runs a task again until it succeeds; after the last attempt its error is the answer. */
export async function withRetry(task, attempts) {
  let last;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      return task(attempt);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}
