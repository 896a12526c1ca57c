/** Entry of the watchdog process; the one argument is the state folder. It ends when the folder is gone. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { layoutAt, type Layout } from '../base/layout.ts';
import { withLock } from './lock.ts';
import { isAlive } from './process.ts';
import { readRecord, readRecords, relaunch, type DaemonRecord } from './supervisor.ts';
import { decideRelaunch, type Relapse } from './watchdog.ts';

const intervalMs = 1000;
const relapses = new Map<string, Relapse>();

function log(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

async function reviveOne(layout: Layout, { name }: DaemonRecord): Promise<void> {
  // Read again under the lock: an `up` or `down` may have dealt with it while we waited.
  const record = await readRecord(layout, name);
  if (!record || (await isAlive(record.identity))) return;
  const { pid } = await relaunch(layout, record);
  log(`${name} had ended and was started again (pid ${pid})`);
}

async function patrol(layout: Layout): Promise<void> {
  for (const record of await readRecords(layout)) {
    if (record.name === 'watchdog' || (await isAlive(record.identity))) continue;
    const { relaunch: now, next } = decideRelaunch(relapses.get(record.name), performance.now());
    relapses.set(record.name, next);
    if (now) await withLock(layout.lockFile, 60_000, log, () => reviveOne(layout, record));
  }
}

const layout = layoutAt(process.argv[2] ?? '');
while (existsSync(layout.daemons)) {
  await patrol(layout).catch((error: unknown) => log(String(error)));
  await sleep(intervalMs);
}
