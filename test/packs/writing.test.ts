import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadPack } from '@agentfleet/eval/format';
import { fixedSample, judge, requireSound } from '@agentfleet/eval/verify';

const full = process.env['AGENTFLEET_FULL'] === '1';
const sampled = 3;
const options = { parallel: 2, memoryMiB: 1024, signal: new AbortController().signal };
const packs = await Promise.all(
  ['code-small', 'contracts', 'trap'].map((name) => loadPack(fileURLToPath(new URL(`./${name}`, import.meta.url)))),
);
const named = new Map(packs.map((pack) => [pack.manifest.name, pack]));

describe.each([
  ['code-small', 60],
  ['contracts', 40],
  ['trap', 40],
])('the pack %s', (name, least) => {
  const pack = named.get(name) as (typeof packs)[number];

  it(`has ${full ? 'only' : 'a sample of'} sound tasks`, async () => {
    const tasks = full ? pack.tasks : fixedSample(pack.tasks, sampled);
    expect(await requireSound({ ...pack, tasks }, options)).toHaveLength(tasks.length);
  });

  it('has as many as it promises, in both halves', () => {
    expect(pack.tasks.length).toBeGreaterThanOrEqual(least);
    for (const half of ['dev', 'held-out']) expect(pack.tasks.filter((task) => task.half === half).length).toBeGreaterThan(least / 3);
  });
});

it('gives every trap a decoy and a tag, and every contract a decoy', () => {
  const traps = named.get('trap')?.tasks ?? [];
  const tasks = [...traps, ...(named.get('contracts')?.tasks ?? [])];
  expect(tasks.filter(({ decoys }) => decoys.length === 0).map(({ id }) => id)).toEqual([]);
  expect(traps.filter(({ tags }) => tags.length === 0).map(({ id }) => id)).toEqual([]);
});

it('shows the visible check the obvious path of a trap', async () => {
  const traps = named.get('trap')?.tasks ?? [];
  for (const task of full ? traps : fixedSample(traps, sampled)) {
    const verdicts = await Promise.all(task.decoys.map((decoy) => judge(task, decoy, options)));
    expect(
      verdicts.some(({ visible, hidden }) => visible.passed && !hidden.passed),
      `${task.id} has no decoy that looks right`,
    ).toBe(true);
  }
});

it('begins code-small with stubs that pass no test at all', async () => {
  const tasks = named.get('code-small')?.tasks ?? [];
  for (const task of full ? tasks : fixedSample(tasks, sampled)) {
    const { visible, hidden } = await judge(task, { files: {} }, options);
    for (const { counts } of [visible, hidden]) expect(counts?.failed, task.id).toBe(counts?.tests);
  }
});
