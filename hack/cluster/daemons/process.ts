// hack, cluster/daemons: identity of a process, and its end. Of other folders imports hack/cache only.
import { readFile, readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A process that cannot be mistaken for another: a pid alone may be reused, a pid with its start time within
 * one boot may not (proc(5): field 22 of stat, in clock ticks since boot).
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
  readonly exe: string;
}

/** Start time from the text of `/proc/<pid>/stat`. The command name may hold spaces and brackets, so count from the last ')'. */
export function startTicks(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** True when both name the same process of the same boot, running the same file (which may have been deleted since). */
export function sameProcess(recorded: ProcessIdentity, observed: ProcessIdentity | undefined): boolean {
  return (
    observed !== undefined &&
    recorded.pid === observed.pid &&
    recorded.startTicks === observed.startTicks &&
    recorded.bootId === observed.bootId &&
    recorded.exe === observed.exe.replace(/ \(deleted\)$/, '')
  );
}

/** Returns the boot's identifier, or a constant where the kernel has none. */
export async function bootId(): Promise<string> {
  return readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => 'unknown',
  );
}

/** Returns the process of this pid now; `undefined` when there is none or it is a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const [stat, exe, boot] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readlink(`/proc/${pid}/exe`), bootId()]);
    const ticks = startTicks(stat);
    return ticks === undefined ? undefined : { pid, startTicks: ticks, bootId: boot, exe };
  } catch {
    return undefined;
  }
}

/** Reports whether the recorded process still runs. */
export async function isAlive(recorded: ProcessIdentity): Promise<boolean> {
  return sameProcess(recorded, await identify(recorded.pid));
}

function signalOnce(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Ends exactly the recorded process: SIGTERM, then SIGKILL after `graceMs`. Does nothing when it is gone.
 * Returns whether it is gone now.
 */
export async function endProcess(recorded: ProcessIdentity, graceMs: number): Promise<boolean> {
  for (const [signal, maxWaitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', 5000],
  ] as const) {
    if (!(await isAlive(recorded))) return true;
    signalOnce(recorded.pid, signal);
    const deadline = performance.now() + maxWaitMs;
    while (performance.now() < deadline) {
      if (!(await isAlive(recorded))) return true;
      await sleep(20);
    }
  }
  return !(await isAlive(recorded));
}

/** Lists processes whose executable satisfies `wanted`; processes that vanish meanwhile are left out. */
export async function processesRunning(wanted: (exe: string) => boolean): Promise<ProcessIdentity[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const seen = await Promise.all(pids.map((pid) => identify(pid)));
  return seen.filter((found): found is ProcessIdentity => found !== undefined && wanted(found.exe.replace(/ \(deleted\)$/, '')));
}

/** Resident memory of a process in MiB (VmRSS of proc(5) status), 0 when it is gone. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
}
