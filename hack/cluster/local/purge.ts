import { existsSync } from 'node:fs';
import { readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from '../../cache/index.ts';
import { binaryCache } from '../build/binaries.ts';
import { processesRunning } from '../daemons/process.ts';
import { ClusterError } from '../base/errors.ts';
import { imageCache } from '../images/images.ts';
import type { Layout } from '../base/layout.ts';

/** A process that runs a binary of the cache. */
export interface CacheUser {
  readonly pid: number;
  /** Arguments without the program, whose path is the cache's and may look like a state folder's. */
  readonly args: readonly string[];
}

/** Returns the state folder of a daemon's cluster, by its file arguments; undefined: a client such as kubectl. */
export function stateOf(args: readonly string[]): string | undefined {
  return args.map((arg) => /^(?:--[a-z-]+=)?(\/.*?)\/(?:pki|etcd|config)(?:\/|$)/.exec(arg)?.[1]).find((state) => state !== undefined);
}

/** Returns the error for which the caches must stay: all state folders share them, and running binaries cannot be rebuilt under them. */
export function purgeRefusal(ownState: string, named: string | undefined, users: readonly CacheUser[]): ClusterError | undefined {
  if (named !== undefined && named !== '') {
    return new ClusterError('AF_CACHE_SHARED', {
      what: 'a state folder of its own shares the caches with every other one, so --purge would take them from all',
      where: `AGENTFLEET_STATE=${named}`,
      cure: 'Run down without --purge; to remove the caches too, unset AGENTFLEET_STATE and run: npm run cluster:down -- --purge',
    });
  }
  for (const { pid, args } of users) {
    const state = stateOf(args);
    if (state === undefined || state === ownState) continue;
    return new ClusterError('AF_CACHE_SHARED', {
      what: `process ${pid} of another cluster runs from the caches that --purge removes`,
      where: state,
      cure: `Run down without --purge, or first: AGENTFLEET_STATE=${state} npm run cluster:down`,
    });
  }
  return undefined;
}

/** Lists all processes that run a binary of the cache. */
export async function cacheUsers(root: string = cacheRoot()): Promise<CacheUser[]> {
  const folder = join(root, binaryCache);
  if (!existsSync(folder)) return [];
  const prefix = `${await realpath(folder)}/`;
  const running = await processesRunning((exe) => exe.startsWith(prefix));
  return Promise.all(
    running.map(async ({ pid }) => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return { pid, args: line.split('\0').slice(1) };
    }),
  );
}

/** Throws AF_CACHE_SHARED when the caches are not this cluster's alone. */
export async function assertMayPurge(layout: Layout): Promise<void> {
  const refusal = purgeRefusal(layout.state, process.env['AGENTFLEET_STATE'], await cacheUsers());
  if (refusal !== undefined) throw refusal;
}

/** Removes the built binaries and image archives. */
export async function purgeCaches(): Promise<void> {
  for (const kind of [binaryCache, imageCache]) await rm(join(cacheRoot(), kind), { recursive: true, force: true });
}
