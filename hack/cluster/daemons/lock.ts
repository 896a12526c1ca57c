import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { identify, isAlive, type ProcessIdentity } from './process.ts';
import { ClusterError } from '../base/errors.ts';
import { waitFor } from '../base/wait.ts';

async function holder(path: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

async function take(path: string, self: ProcessIdentity): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(self), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const other = await holder(path);
  if (other && !(await isAlive(other))) await rm(path, { force: true });
  return false;
}

/**
 * Runs `work` while this process alone holds the lock file. A lock whose holder has died is taken over.
 * Throws AF_LOCKED when a living holder keeps it for longer than `timeoutMs`.
 */
export async function withLock<T>(path: string, timeoutMs: number, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  const self = await identify(process.pid);
  if (!self) throw new Error('this process does not find itself in /proc');
  await mkdir(dirname(path), { recursive: true });
  if (!(await take(path, self))) {
    log(`waiting for process ${(await holder(path))?.pid ?? '?'}, which works on the same cluster`);
    const wait = { timeoutMs, intervalMs: 100, where: path };
    await waitFor('the lock', () => take(path, self), wait).catch(async () => {
      throw new ClusterError('AF_LOCKED', {
        what: `process ${(await holder(path))?.pid ?? '?'} has worked on this cluster for more than ${timeoutMs / 1000} s`,
        where: path,
        cure: 'Wait for it or end it, then run the command again',
      });
    });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}
