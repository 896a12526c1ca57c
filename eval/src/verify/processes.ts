/** The processes of one run, found by a mark in their environment: it stays with those that leave their group or lose their parent. */
import { readdir, readFile } from 'node:fs/promises';
import { pid as ownPid } from 'node:process';

export const markVariable = 'AGENTFLEET_PACK_RUN';

const pageKiB = 4;

async function carries(pid: string, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  return environment.split('\0').includes(`${markVariable}=${mark}`);
}

/** Pids of all processes but this one. */
export async function others(): Promise<readonly string[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== ownPid);
}

/** Pids of the processes that carry the mark. Those in `before` are older than it and are not asked: to ask all of a machine is dear. */
export async function marked(mark: string, before: ReadonlySet<string> = new Set()): Promise<number[]> {
  const pids = (await others()).filter((pid) => !before.has(pid));
  const found = await Promise.all(pids.map((pid) => carries(pid, mark)));
  return pids.filter((_, at) => found[at]).map(Number);
}

async function residentKiB(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '');
  return Number(statm.split(' ')[1] ?? 0) * pageKiB;
}

/** Memory of these processes together, in KiB. */
export async function memoryKiB(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(residentKiB))).reduce((sum, size) => sum + size, 0);
}

/** Kills what carries the mark, also what was started meanwhile. */
export async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const pids = await marked(mark);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
