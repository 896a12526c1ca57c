import fs from 'node:fs';

/** Calls by which the store changes its files. */
const CHANGES = ['writeSync', 'writeFileSync', 'renameSync', 'rmSync', 'unlinkSync', 'truncateSync', 'mkdirSync'] as const;

/**
 * Runs `job` and keeps a copy of `dir` as it was just before each change of a file, and in the middle of each write:
 * the state after a kill -9 at that instant. Returns the copies' paths below `copies`.
 */
export async function crashPoints(dir: string, copies: string, job: () => Promise<unknown>): Promise<string[]> {
  const made: string[] = [];
  const real = { ...fs };
  const copy = (): void => {
    const to = `${copies}/${made.length}`;
    real.cpSync(dir, to, { recursive: true });
    made.push(to);
  };
  const mutable = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of CHANGES) {
    const original = real[name] as (...args: unknown[]) => unknown;
    mutable[name] = (...args) => {
      copy();
      const [fd, bytes, offset, length, position] = args;
      if (name === 'writeSync' && Buffer.isBuffer(bytes) && typeof length === 'number' && length > 1) {
        const half = Math.floor(length / 2);
        original(fd, bytes, offset, half, position);
        copy();
        const rest = typeof position === 'number' ? position + half : position;
        return half + Number(original(fd, bytes, Number(offset) + half, length - half, rest));
      }
      return original(...args);
    };
  }
  try {
    await job();
  } finally {
    for (const name of CHANGES) mutable[name] = real[name] as (...args: unknown[]) => unknown;
  }
  copy();
  return made;
}
