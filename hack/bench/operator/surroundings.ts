import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuSecondsOf, machineSecondsOf } from './process.ts';

/** CPU seconds so far: of each part of the control plane, and of the whole machine. */
export interface Spent {
  readonly parts: Readonly<Record<string, number>>;
  readonly busy: number;
  readonly idle: number;
}

interface DaemonRecord {
  readonly name: string;
  readonly identity: { readonly pid: number };
}

/** Reads what the daemons of a control plane have used, from the records of who they are. */
export async function spentBy(folder: string): Promise<Spent> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && name !== 'watchdog.json');
  const parts = await Promise.all(
    names.map(async (file) => {
      const { name, identity } = JSON.parse(await readFile(join(folder, file), 'utf8')) as DaemonRecord;
      return [name, cpuSecondsOf(await readFile(`/proc/${identity.pid}/stat`, 'utf8'))] as const;
    }),
  );
  return { parts: Object.fromEntries(parts), ...machineSecondsOf(await readFile('/proc/stat', 'utf8')) };
}

const round = (value: number): number => Number(value.toFixed(2));

/**
 * What was spent between two reads, by the control plane for 1,000 objects, and how much of the machine was left. A part
 * that was started again meanwhile counts from zero again: what it spent is not known, nor what all spent together. Pure.
 */
export function spentBetween(
  before: Spent,
  after: Spent,
  objects: number,
): { readonly controlPlane: Readonly<Record<string, number>>; readonly idlePercent: number } {
  const anew = Object.entries(after.parts).some(([name, seconds]) => seconds < (before.parts[name] ?? 0));
  const each = Object.entries(anew ? {} : after.parts).map(
    ([name, seconds]) => [name, round(((seconds - (before.parts[name] ?? 0)) / objects) * 1000)] as const,
  );
  const [busy, idle] = [after.busy - before.busy, after.idle - before.idle];
  return { controlPlane: Object.fromEntries(each), idlePercent: busy + idle === 0 ? 0 : round((idle / (busy + idle)) * 100) };
}
