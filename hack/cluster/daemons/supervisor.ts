import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../../cache/index.ts';
import { ClusterError } from '../base/errors.ts';
import type { Layout } from '../base/layout.ts';
import type { Daemon } from './daemon.ts';
import { endProcess, identify, isAlive, type ProcessIdentity } from './process.ts';

/** The stored record of a started daemon. */
export interface DaemonRecord {
  readonly name: string;
  readonly identity: ProcessIdentity;
  /** Hash of everything that went into the start; another hash means the daemon must be restarted. */
  readonly fingerprint: string;
  /** Its description, so that it can be started again in the same way. */
  readonly daemon: Daemon;
}

/** Action of `ensureDaemon`. */
type DaemonOutcome = 'started' | 'restarted' | 'running';

const logLimitBytes = 64 * 1024 ** 2;

/**
 * Hashes the binary's path (which holds the hash of its build), arguments, environment, files and inputs. The cache's
 * place does not count: the same build in another folder is no reason for a restart.
 */
export async function fingerprint(daemon: Daemon): Promise<string> {
  const inputs = await Promise.all((daemon.inputs ?? []).map((path) => readFile(path, 'base64')));
  const parts = [daemon.binary, daemon.args, daemon.env ?? {}, daemon.files ?? [], inputs];
  return createHash('sha256')
    .update(JSON.stringify(parts).replaceAll(`${cacheRoot()}/`, ''))
    .digest('hex')
    .slice(0, 16);
}

function recordPath(layout: Layout, name: string): string {
  return join(layout.daemons, `${name}.json`);
}

/** The record of one daemon, whether it runs or not. */
export async function readRecord(layout: Layout, name: string): Promise<DaemonRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordPath(layout, name), 'utf8')) as DaemonRecord;
  } catch {
    return undefined;
  }
}

async function writeRecord(layout: Layout, record: DaemonRecord): Promise<void> {
  await writeFile(recordPath(layout, record.name), JSON.stringify(record), { mode: 0o600 });
}

/** All records, in the order of their names. */
export async function readRecords(layout: Layout): Promise<DaemonRecord[]> {
  const names = (await readdir(layout.daemons).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
  const records = await Promise.all(names.map((name) => readRecord(layout, name.replace(/\.json$/, ''))));
  return records.filter((record) => record !== undefined);
}

/** The log file of a daemon. */
export function logPath(layout: Layout, name: string): string {
  return join(layout.logs, `${name}.log`);
}

async function launch(layout: Layout, daemon: Daemon): Promise<ProcessIdentity> {
  const path = logPath(layout, daemon.name);
  const size = await stat(path).then(
    (info) => info.size,
    () => 0,
  );
  if (size > logLimitBytes) await rename(path, `${path}.1`);
  const log = await open(path, 'a', 0o600);
  try {
    const child = spawn(daemon.binary, daemon.args, {
      detached: true, // its own session: Ctrl-C at the caller's terminal is not for the daemon
      cwd: '/',
      env: { ...process.env, ...daemon.env },
      stdio: ['ignore', log.fd, log.fd],
    });
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    child.unref();
    const identity = child.pid === undefined ? undefined : await identify(child.pid);
    if (!identity) throw await diedError(layout, daemon.name);
    return identity;
  } finally {
    await log.close();
  }
}

/** The error for a daemon that has ended, with the last lines of its log. */
async function diedError(layout: Layout, name: string): Promise<ClusterError> {
  const text = await readFile(logPath(layout, name), 'utf8').catch(() => '');
  const tail = text.trim().split('\n').slice(-4).join(' / ').slice(-800);
  return new ClusterError('AF_DAEMON_DIED', {
    what: `${name} ended right after its start: ${tail}`,
    where: logPath(layout, name),
    cure: 'Its last words tell the reason; when it is gone, run the command again',
  });
}

/** Throws AF_DAEMON_DIED when the daemon no longer runs. For use inside waits, so that they need not run out. */
export async function assertAlive(layout: Layout, name: string): Promise<void> {
  const record = await readRecord(layout, name);
  if (!record || !(await isAlive(record.identity))) throw await diedError(layout, name);
}

async function launchAndRecord(layout: Layout, daemon: Daemon, wanted: string): Promise<ProcessIdentity> {
  const identity = await launch(layout, daemon);
  await writeRecord(layout, { name: daemon.name, identity, fingerprint: wanted, daemon });
  return identity;
}

/** Starts a daemon that has ended again, exactly as it was started before. Must hold the lock. */
export async function relaunch(layout: Layout, record: DaemonRecord): Promise<ProcessIdentity> {
  return launchAndRecord(layout, record.daemon, record.fingerprint);
}

/**
 * Makes the daemon run as described: starts it when it does not run, restarts it when its description has
 * changed, and leaves it alone otherwise. Throws AF_DAEMON_DIED when it ends at once.
 */
export async function ensureDaemon(layout: Layout, daemon: Daemon, log: (line: string) => void): Promise<DaemonOutcome> {
  const [wanted, record] = await Promise.all([fingerprint(daemon), readRecord(layout, daemon.name)]);
  const alive = record !== undefined && (await isAlive(record.identity));
  if (alive && record.fingerprint === wanted) {
    // The cache may have moved since: the next start must find the binary where it is now.
    if (JSON.stringify(record.daemon) !== JSON.stringify(daemon)) await writeRecord(layout, { ...record, daemon });
    return 'running';
  }
  if (alive) await endProcess(record.identity, 3000);
  for (const file of daemon.files ?? []) {
    await mkdir(dirname(file.path), { recursive: true });
    await writeFile(file.path, file.text, { mode: 0o600 });
  }
  const identity = await launchAndRecord(layout, daemon, wanted);
  log(`${daemon.name} ${alive ? 'restarted, because its inputs changed' : 'started'} (pid ${identity.pid})`);
  return alive ? 'restarted' : 'started';
}

/** Ends a daemon if the process we started still runs, and forgets it. Returns false when it could not be ended. */
export async function stopDaemon(layout: Layout, name: string, graceMs = 10_000): Promise<boolean> {
  const record = await readRecord(layout, name);
  if (!record) return true;
  const gone = await endProcess(record.identity, graceMs);
  if (gone) await rm(recordPath(layout, name), { force: true });
  return gone;
}
