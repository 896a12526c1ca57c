// test, e2e/matrix: search for PID 1 of a container. May import any package.
import { readFile } from 'node:fs/promises';

/** Ids of a process in its PID namespaces, the outermost first; empty when it has ended. */
async function idsOf(pid: number): Promise<readonly string[]> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/) ?? [];
}

/** PID 1 of the container that processes are of, its commands' namespaces left out; undefined: it has ended. */
export async function initOf(pids: readonly number[]): Promise<number | undefined> {
  const found = await Promise.all(pids.map(async (pid) => ({ pid, ids: await idsOf(pid) })));
  const inits = found.filter(({ ids }) => ids.length > 1 && ids.at(-1) === '1');
  return inits.sort((a, b) => a.ids.length - b.ids.length)[0]?.pid;
}
