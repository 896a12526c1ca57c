// hack, bench/operator: poll of a condition with a time limit. May import any package.

/** Asks again and again until the answer is yes; rejects when it is not within `timeoutMs`. */
export async function poll(what: string, holds: () => Promise<boolean>, timeoutMs: number, intervalMs = 100): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs / 1000} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}
