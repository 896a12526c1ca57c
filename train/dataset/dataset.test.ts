import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleSplits, stratumOf, type Example } from './example.ts';
import { manifestOf } from './manifest.ts';
import { refuseInvalid } from './refuse.ts';
import { DataWriter } from './writer.ts';

const splitOf = (at: number): Example['split'] => (at % 5 === 0 ? 'heldOut' : at % 5 === 1 ? 'calibration' : 'train');

/** Half of the acts are good; problems are not shared. */
const examples: readonly Example[] = Array.from({ length: 200 }, (_, at) => {
  const good = Math.floor(at / 5) % 2 === 0;
  return {
    id: `e${at}`,
    problem: `p${at}`,
    split: splitOf(at),
    head: 'Shell',
    stratum: good ? 'Pass' : 'PolicyViolating',
    text: `run number ${at}`,
    operator: 'act',
    features: { policyUnsafe: good ? 0.1 : 0.9 },
    replays: good ? [true, true] : [false, false],
  };
});

const change = (at: number, parts: Partial<Example>): readonly Example[] => examples.with(at, { ...(examples[at] as Example), ...parts });
const flipped = examples.map((one): Example => ({ ...one, stratum: one.stratum === 'Pass' ? 'Fail' : 'Pass', replays: [] }));

describe('data that nothing is trained on', () => {
  it.each<[string, readonly Example[], RegExp]>([
    ['an empty set', [], /is empty; generate/],
    ['a tiny one', examples.slice(0, 99), /99 examples are too few/],
    ['one of a single class', examples.map((one) => ({ ...one, stratum: 'Fail' })), /of one class; add/],
    [
      'one with nearly none of a class',
      examples.map((one, at) => (at < 19 ? { ...one, stratum: 'Pass', replays: [] } : { ...one, stratum: 'Fail' })),
      /only 19/,
    ],
    ['flipped labels', flipped, /labels are flipped/],
    ['a problem in two splits', change(2, { problem: 'p0' }), /problem p0 is in both/],
    ['the same act in two splits', change(2, { text: 'RUN  number 0' }), /has the content of p2/],
    ['a calibration that leaks', change(2, { text: 'run number 1' }), /has the content of p2/],
    ['good after one replay', change(0, { replays: [true] }), /e0 counts as good after replays \[true\]/],
    ['good though it flakes', change(0, { replays: [true, false, true] }), /e0 counts as good/],
  ])('%s is refused', (_, set, why) => {
    expect(() => refuseInvalid(set)).toThrow(why);
  });

  it('is not every set', () => {
    expect(() => refuseInvalid(examples)).not.toThrow();
  });

  it('has contradicting labels', () => {
    const twice = examples.flatMap((one, at) =>
      at % 10 < 5 ? [one] : [one, { ...one, id: `${one.id}b`, stratum: 'Pass', replays: [] } as const],
    );
    expect(() => refuseInvalid(twice)).toThrow(/under both labels/);
  });
});

it.each<[readonly boolean[], boolean, string | null]>([
  [[true, true], true, 'Pass'],
  [[true], true, null],
  [[true, false], true, 'Flaky'],
  [[false, false], true, 'PlausibleFail'],
  [[false], false, 'Fail'],
])('replays %j, visible tests %s: %s', (replays, visible, stratum) => {
  expect(stratumOf(replays, visible)).toBe(stratum);
});

describe('a data set on disk', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dataset-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is the same when it is written as it is made', async () => {
    await using writer = await DataWriter.open(folder, 7);
    for (let at = 0; at < examples.length; at += 7) await writer.append(examples.slice(at, at + 7));
    const manifest = await writer.close();
    expect(manifest).toEqual(manifestOf(examples, 7));
    expect(manifest.splits.heldOut).toMatchObject({ problems: 40, strata: { Pass: 20, PolicyViolating: 20, Flaky: 0 } });
    const lines = await Promise.all(exampleSplits.map((split) => readFile(join(folder, `${split}.jsonl`), 'utf8')));
    const found = lines.flatMap((text) => text.trimEnd().split('\n')).map((line) => JSON.parse(line) as Example);
    expect(found.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(examples.toSorted((a, b) => a.id.localeCompare(b.id)));
  });

  it.each<[string, readonly Example[], RegExp]>([
    ['labels are flipped', flipped, /labels are flipped/],
    ['the same act is in two splits', change(2, { text: 'RUN  number 0' }), /has the content of p2/],
    ['nothing came', [], /is empty/],
  ])('written as it is made it gets no manifest when %s', async (_, set, why) => {
    const own = await mkdtemp(join(tmpdir(), 'dataset-'));
    await using writer = await DataWriter.open(own, 7);
    await writer.append(set);
    await expect(writer.close()).rejects.toThrow(why);
    expect(await readdir(own)).not.toContain('manifest.json');
    await rm(own, { recursive: true });
  });
});
