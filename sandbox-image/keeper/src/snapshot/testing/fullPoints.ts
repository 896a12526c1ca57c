import fs from 'node:fs';

/** Calls by which an engine allocates space, with the index of the argument for the place: a path or a descriptor. */
const CHANGES = ['writeSync', 'writeFileSync', 'appendFileSync', 'renameSync', 'mkdirSync', 'fdatasyncSync', 'fsyncSync'] as const;

/**
 * Runs `job` while the `point`-th change below `dir`, and each one after it, fails as on a full disk. Returns the job's
 * rejection, null for none, and whether there was such a change.
 */
export async function fullFrom(point: number, dir: string, job: () => Promise<unknown>): Promise<{ error: unknown; met: boolean }> {
  const real = { ...fs };
  const mutable = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  let seen = 0;
  for (const name of CHANGES) {
    const original = real[name] as (...args: unknown[]) => unknown;
    mutable[name] = (...args) => {
      const where = typeof args[0] === 'number' ? real.readlinkSync(`/proc/self/fd/${args[0]}`) : String(args[0]);
      if (where.startsWith(dir) && ++seen >= point)
        throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC' });
      return original(...args);
    };
  }
  try {
    await job();
    return { error: null, met: seen >= point };
  } catch (error) {
    return { error, met: seen >= point };
  } finally {
    for (const name of CHANGES) mutable[name] = real[name] as (...args: unknown[]) => unknown;
  }
}
