// `npm run bench`: measures and prints one table. Options: `--cold` adds a build from empty caches (many minutes),
// `--only snapshots,durable,fleet,cluster,sandbox,status` chooses, `--write FILE` also writes the table to a file.
import { writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { down, status } from '../cluster/index.ts';
import { startEnvironment } from '../environment/index.ts';
import { clusterBench } from './clusterBench.ts';
import { durableRows } from './durableRows.ts';
import { fleetBench } from './fleetBench.ts';
import { layerRows } from './layerRows.ts';
import { sandboxBench } from './sandboxBench.ts';
import { snapshotRows } from './snapshotRows.ts';
import { statusWrites } from './statusWrites.ts';
import { table, type Row } from './report/table.ts';

const { values } = parseArgs({ options: { cold: { type: 'boolean' }, only: { type: 'string' }, write: { type: 'string' } } });
const chosen = new Set((values.only ?? 'snapshots,durable,fleet,cluster,sandbox,status').split(','));

const wasUp = (await status()).state !== 'down';
const rows: Row[] = [];
const sizes = [1000, 10_000, 50_000];
if (chosen.has('snapshots')) for (const files of sizes) rows.push(...(await snapshotRows(files)));
if (chosen.has('durable')) rows.push(...(await durableRows()));
if (chosen.has('fleet')) rows.push(...(await fleetBench()));
if (chosen.has('cluster')) rows.push(...(await clusterBench(values.cold ?? false)).rows);
if (chosen.has('sandbox')) {
  const environment = await startEnvironment({ log: () => undefined });
  rows.push(...(await sandboxBench(environment)), ...(await layerRows(environment, 10_000)));
}
if (chosen.has('status')) rows.push(...(await statusWrites()));
if (!wasUp) await down({ log: () => undefined });

const processors = cpus();
const machine = `${processors.length} cores (${processors[0]?.model ?? 'unknown'}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}, Node ${process.version}`;
const text = `${machine}; ${new Date().toISOString().slice(0, 10)}\n\n${table(rows)}\n`;
console.log(text);
if (values.write !== undefined) await writeFile(values.write, `# Measurements\n\nMade by \`npm run bench -- --write FILE\` on\n${text}`);
