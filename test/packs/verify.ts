// Verifies packs and prints a table: verify.ts [--sample N] [--only TEXT] [PACK…]; default: every pack.
import { readdir } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadPack } from '@agentfleet/eval/format';
import { countTable, fixedSample, taskHeader, taskLine, verifyTasks } from '@agentfleet/eval/verify';

const root = fileURLToPath(new URL('.', import.meta.url));

/** Folders of packs in the format that is read here. */
async function everyPack(): Promise<string[]> {
  return (await readdir(root))
    .filter(
      (name) =>
        existsSync(join(root, name, 'pack.json')) && ['tasks', 'instances.jsonl'].some((part) => existsSync(join(root, name, part))),
    )
    .sort();
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, only: { type: 'string', default: '' } },
});
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

let refused = 0;
for (const name of positionals.length > 0 ? positionals : await everyPack()) {
  const { manifest, tasks } = await loadPack(join(root, name));
  const chosen = tasks.filter(({ id }) => id.includes(values.only));
  const begun = performance.now();
  console.log(taskHeader);
  const reports = await verifyTasks(values.sample === undefined ? chosen : fixedSample(chosen, Number(values.sample)), manifest, {
    parallel: 2,
    memoryMiB: 1024,
    signal: stop.signal,
    onReport: (report) => console.log(taskLine(report)),
  });
  const bad = reports.filter(({ refusals }) => refusals.length > 0).length;
  refused += bad;
  console.log(`\n${countTable(reports.map(({ task }) => task))}`);
  console.log(
    `${name} ${manifest.version}: ${reports.length} tasks, ${bad} refused, ${((performance.now() - begun) / 1000).toFixed(1)} s\n`,
  );
}
process.exitCode = refused === 0 ? 0 : 1;
