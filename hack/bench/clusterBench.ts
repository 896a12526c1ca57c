import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { down, status, up } from '../cluster/index.ts';
import { startEnvironment, type TestEnvironment } from '../environment/index.ts';
import type { Row } from './report/table.ts';

async function seconds(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}

/**
 * Takes the cluster down and up again, and asks a running one for up once more. Leaves it up.
 * With `cold`, everything is first built from sources into empty caches, in a process of its own.
 */
export async function clusterBench(cold: boolean): Promise<{ readonly rows: readonly Row[]; readonly environment: TestEnvironment }> {
  const rows: Row[] = [];
  const quiet = { log: () => undefined };
  rows.push({ measure: 'cluster:down', ours: await seconds(() => down(quiet)), unit: 's' });
  if (cold) rows.push(await coldUp());
  rows.push({
    measure: 'cluster:up, binaries in the cache',
    ours: await seconds(() => up(quiet)),
    unit: 's',
    note: 'to node and DNS ready',
  });
  rows.push({ measure: 'cluster:up, already running', ours: await seconds(() => up(quiet)), unit: 's' });
  const { totalRssMiB, daemons } = await status();
  const biggest = daemons.toSorted((a, b) => b.rssMiB - a.rssMiB).map((daemon) => `${daemon.name} ${daemon.rssMiB.toFixed(0)}`);
  rows.push({ measure: 'RSS of all daemons, idle', ours: totalRssMiB, unit: 'MiB', note: biggest.join(', ') });
  const environment = await startEnvironment(quiet);
  for (const image of environment.images) rows.push({ measure: `image ${image.name}`, ours: image.bytes / 2 ** 20, unit: 'MiB' });
  return { rows, environment };
}

/** Builds all binaries with empty Go caches and an empty cache of ours; modules are downloaded. */
async function coldUp(): Promise<Row> {
  const dir = await mkdtemp(join(tmpdir(), 'agentfleet-cold-'));
  const env = {
    AGENTFLEET_CACHE: join(dir, 'cache'),
    GOCACHE: join(dir, 'go-build'),
    GOMODCACHE: join(dir, 'go-mod'),
    GOFLAGS: `${process.env['GOFLAGS'] ?? ''} -modcacherw`.trim(),
  };
  const main = join(import.meta.dirname, '..', 'cluster', 'main.ts');
  try {
    const taken = await seconds(() => execa(process.execPath, [main, 'up'], { env }));
    await execa(process.execPath, [main, 'down'], { env });
    return { measure: 'cluster:up, cold', ours: taken, unit: 's', note: 'empty caches, downloads included' };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
