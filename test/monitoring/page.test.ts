// What docs/observability.md and docs/placement.md say.
import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { catalogue } from './catalogue.ts';
import { ruleGroups } from './shipped.ts';
import { vllmMetrics } from './vllm.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let page: string;

beforeAll(async () => {
  page = await readFile(`${root}docs/observability.md`, 'utf8');
});

it('names every alert and every recorded series, and none that is not there', async () => {
  const rules = (await ruleGroups()).flatMap((group) => group.rules);
  const alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
  expect([...new Set(page.match(/AgentFleet[A-Z]\w+/g))].toSorted()).toEqual(alerts.toSorted());
  for (const { record } of rules) {
    // Quantiles of one measure are reported together.
    if (record !== undefined && record !== 'fleet:server_track') expect(page).toContain(record.replace(/:p\d\d$/, ''));
  }
});

it('names no metric that nobody tells, and every version after which one has another name', async () => {
  const known = new Set([...(await catalogue()).keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const named = [...new Set(page.match(/agentfleet_[a-z_]+(?=[`{])/g))].filter((name) => !name.endsWith('_'));
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  for (const [name, { until }] of Object.entries(vllmMetrics)) {
    if (until === undefined || name.includes('prefix')) continue;
    expect(page).toContain(`until ${until} \`${name.slice('vllm:'.length)}\``);
  }
});

it('says rightly that no image of ours asks a node for its GPUs', async () => {
  const files: string[] = [];
  for await (const path of glob('**/Dockerfile', { cwd: root, exclude: (path) => /(^|\/)(node_modules|\.git)$/.test(path) }))
    files.push(path);
  expect(files.length).toBeGreaterThan(8);
  for (const path of files) {
    const text = await readFile(`${root}${path}`, 'utf8');
    expect(text, path).not.toMatch(/NVIDIA_|CUDA_/);
    // Nothing comes from an image that others made.
    for (const [, from = ''] of text.matchAll(/^FROM +(\S+)/gm)) expect(from, path).toMatch(/^(scratch|\$\{BASE_IMAGE\})$/);
  }
});
