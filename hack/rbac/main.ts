// `node hack/rbac/main.ts STAGE…`: compares the roles of the chart with the requests in these stages of `npm test`.
import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { chart, chartValues, release } from '../install/index.ts';
import { registryPrograms } from '../release/registry.ts';
import { grantsTo, type Manifest, judge } from './judge.ts';
import type { Asks } from './asks.ts';
import { recordOf } from './record.ts';
import { accounts, implied, rare } from './subjects.ts';

async function rendered(): Promise<readonly Manifest[]> {
  const { helm } = await registryPrograms();
  const values = chartValues({ image: (name) => `localhost/agentfleet/${name}:none` }, { kueue: { enabled: true } });
  const args = ['template', release, chart, '--namespace=agentfleet-system', '--values=-'];
  const { stdout } = await execa(helm, args, { input: JSON.stringify(values) });
  return (loadAll(stdout) as (Manifest | null)[]).filter((manifest) => manifest !== null);
}

const stages = process.argv.slice(2);
const asks = (await Promise.all(stages.map(async (stage) => JSON.parse(await readFile(recordOf(stage), 'utf8')) as Asks))).flat();
const manifests = await rendered();
let faults = 0;
for (const account of accounts) {
  const verdict = judge(
    grantsTo(manifests, account),
    asks.filter((asked) => asked.account === account),
    implied,
  );
  const lines = [
    ...verdict.refused.map((line) => `asked for and not granted: ${line}`),
    ...verdict.unused.filter((line) => rare[line] === undefined).map((line) => `granted and never asked for: ${line}`),
    ...verdict.twice.map((line) => `granted in all namespaces already: ${line}`),
  ];
  faults += lines.length;
  console.log(`${account}: ${lines.length === 0 ? 'its rules are what it needs' : `${lines.length} faults`}`);
  for (const line of lines) console.log(`  ${line}`);
}
process.exitCode = faults === 0 && stages.length > 0 ? 0 : 1;
