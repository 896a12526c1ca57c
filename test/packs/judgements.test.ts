import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  channels,
  closest,
  countLabels,
  hazardClasses,
  loadContexts,
  loadHazards,
  loadInjections,
  normalise,
  PackFault,
  proposalText,
  type HazardEntry,
  type Manifest,
} from '@agentfleet/eval/judgements';

const folderOf = (name: string): string => join(import.meta.dirname, name);
const [hazards, injections] = await Promise.all([
  Promise.all((['dev', 'sealed'] as const).map((half) => loadHazards(half, folderOf('hazard')))),
  Promise.all((['dev', 'sealed'] as const).map((half) => loadInjections(half, folderOf('injection')))),
]);

const sizes = (entries: Parameters<typeof countLabels>[0]): ((label: string) => number) => {
  const counts = countLabels(entries);
  return (label) => (counts[label]?.plain ?? 0) + (counts[label]?.subtle ?? 0);
};

const texts = {
  hazard: hazards.map((half) => half.map((entry) => ({ ...entry, words: proposalText(entry) }))),
  injection: injections.map((half) => half.map((entry) => ({ ...entry, words: entry.text }))),
};

describe.each(Object.entries(texts))('the pack %s', (_, [dev = [], sealed = []]) => {
  const all = [...dev, ...sealed];

  test('gives both halves the same share of each label, plain and subtle', () => {
    const [one, other] = [countLabels(dev), countLabels(sealed)];
    for (const label of new Set(all.map((entry) => entry.label))) {
      expect(one[label], label).toBeDefined();
      expect(Math.abs((one[label]?.plain ?? 0) - (other[label]?.plain ?? 0)), label).toBeLessThanOrEqual(1);
      expect(Math.abs((one[label]?.subtle ?? 0) - (other[label]?.subtle ?? 0)), label).toBeLessThanOrEqual(1);
    }
  });

  test('has each id and each text once, and no template in both halves', () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ words }) => normalise(words))).size).toBe(all.length);
    const [own, others] = [dev, sealed].map((half) => half.map(({ words }) => words)) as [string[], string[]];
    const pair = closest(own, others);
    expect(pair.likeness, `${pair.one} | ${pair.other}`).toBeLessThan(0.4);
  });
});

test('hazard has 400 unsafe and 400 benign entries, each class at least 50', () => {
  const size = sizes(hazards.flat());
  expect(size('Benign')).toBe(400);
  expect(hazardClasses.map(size).reduce((sum, n) => sum + n)).toBe(400);
  for (const label of hazardClasses) expect(size(label), label).toBeGreaterThanOrEqual(50);
});

test('hazard lets neither the tool nor the place in the file reveal the label', () => {
  const isBenign = (entry: HazardEntry | undefined): boolean => entry?.label === 'Benign';
  for (const half of hazards) {
    for (const tool of ['Shell', 'ExecCode', 'FileWrite']) {
      const share = half.filter((entry) => entry.tool === tool);
      const unsafe = share.filter((entry) => !isBenign(entry)).length / share.length;
      expect(unsafe, tool).toBeGreaterThan(0.4);
      expect(unsafe, tool).toBeLessThan(0.6);
    }
    const changes = half.filter((entry, index) => index > 0 && isBenign(entry) !== isBenign(half[index - 1]));
    expect(changes.length).toBeGreaterThan(half.length / 4);
  }
});

test('injection has at least 40 texts that steer, to acts of each class through each channel, and 20 that only look so', () => {
  const all = injections.flat();
  const steering = all.filter(({ label }) => label === 'Injection');
  expect(steering.length).toBeGreaterThanOrEqual(40);
  expect(all.length - steering.length).toBeGreaterThanOrEqual(20);
  expect(new Set(all.flatMap(({ act }) => (act === undefined ? [] : [act.class])))).toEqual(new Set(hazardClasses));
  expect(new Set(steering.map(({ channel }) => channel))).toEqual(new Set(channels));
});

test('the dev half of hazard-2 has all classes, most of it hard to distinguish, each with the goal of its task', async () => {
  const [entries, contexts] = await Promise.all([loadHazards('dev', folderOf('hazard-2')), loadContexts('dev', folderOf('hazard-2'))]);
  const size = sizes(entries);
  for (const label of hazardClasses) expect(size(label), label).toBeGreaterThanOrEqual(15);
  expect(size('Benign') / entries.length).toBeGreaterThan(0.45);
  expect((countLabels(entries)['Benign']?.subtle ?? 0) / size('Benign')).toBeGreaterThan(0.6);
  expect(new Set(entries.map((entry) => normalise(proposalText(entry)))).size).toBe(entries.length);
  expect([...contexts.keys()].sort()).toEqual(entries.map(({ id }) => id).sort());
});

test('the dev half of injection-2 has for each text a goal and the act that it calls for, unlike the one that the text asks for', async () => {
  const folder = folderOf('injection-2');
  const [entries, contexts] = await Promise.all([loadInjections('dev', folder), loadContexts('dev', folder)]);
  expect(entries.filter(({ label }) => label === 'Injection').length).toBeGreaterThanOrEqual(40);
  for (const { id, act } of entries) {
    const called = contexts.get(id)?.harmless;
    expect(called, id).toBeDefined();
    if (act !== undefined && called !== undefined) expect(proposalText(called), id).not.toBe(proposalText(act));
  }
});

test('the likeness sees a template with another name', () => {
  const pair = closest(['rm -rf /workspace/alpha/build && npm ci'], ['ls', 'rm -rf /workspace/beta/build && npm ci']);
  expect(pair.other).toContain('beta');
  expect(pair.likeness).toBeGreaterThan(0.4);
  expect(closest(['kill -9 100'], ['Kill  -9 7']).likeness).toBe(1);
});

describe('the loader', () => {
  let folder = '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pack-'));
  });
  afterEach(async () => rm(folder, { recursive: true }));

  const open = async (pack: string): Promise<void> => cp(folderOf(pack), folder, { recursive: true });
  const loadsHazards = (): Promise<unknown> => loadHazards('dev', folder);

  /** Changes the half's lines; its hash is made to fit, so that later checks are reached. */
  async function edit(change: (lines: string[]) => string[]): Promise<void> {
    const lines = (await readFile(join(folder, 'dev.jsonl'), 'utf8')).trimEnd().split('\n');
    const text = `${change(lines).join('\n')}\n`;
    await writeFile(join(folder, 'dev.jsonl'), text);
    const manifest = JSON.parse(await readFile(join(folder, 'pack.json'), 'utf8')) as Manifest;
    const half = { ...manifest.halves.dev, sha256: createHash('sha256').update(text).digest('hex') };
    await writeFile(join(folder, 'pack.json'), JSON.stringify({ ...manifest, halves: { ...manifest.halves, dev: half } }));
  }

  function member(lines: readonly string[], index: number, change: object): string[] {
    return lines.map((line, at) => (at === index ? JSON.stringify({ ...(JSON.parse(line) as object), ...change }) : line));
  }

  test('refuses a half whose bytes do not fit the hash', async () => {
    await open('hazard');
    const file = join(folder, 'dev.jsonl');
    await writeFile(file, (await readFile(file, 'utf8')).replace('"subtle": true', '"subtle": false'));
    await expect(loadsHazards()).rejects.toThrow(/dev\.jsonl has sha256 [0-9a-f]{64}, pack\.json says/);
    await expect(loadHazards('sealed', folder)).resolves.toHaveLength(400);
  });

  test.each([
    ['a label that is none', { label: 'Rude' }, /dev\.jsonl:3: \/label must be equal to one of the allowed values/],
    ['a member that nobody knows', { mood: 1 }, /dev\.jsonl:3: .*additional properties: mood/],
    ['a tool that is none', { tool: 'Browser' }, /dev\.jsonl:3: .*"tool" must be in oneOf/],
    ['a reason that is no sentence', { why: 'because' }, /dev\.jsonl:3: \/why must match pattern/],
    ['an entry of the other half', { half: 'sealed' }, /dev\.jsonl:3: hz-dev-003 says half sealed/],
    ['an id that is there twice', { id: 'hz-dev-001' }, /dev\.jsonl:3: id hz-dev-001 is also on line 1/],
  ])('refuses %s', async (_, change, message) => {
    await open('hazard');
    await edit((lines) => member(lines, 2, change));
    await expect(loadsHazards()).rejects.toThrow(message);
  });

  test.each([
    ['a steering text without its act', { label: 'Injection', act: undefined }, /dev\.jsonl:\d+: .*must have required property 'act'/],
    ['a harmless text with an act', { label: 'Benign' }, /dev\.jsonl:\d+: \/act/],
    ['a channel that is none', { channel: 'Radio' }, /dev\.jsonl:\d+: \/channel must be equal to one of/],
  ])('refuses %s', async (_, change, message) => {
    await open('injection');
    const steering = (injections[0] ?? []).findIndex(({ act }) => act !== undefined);
    await edit((lines) => member(lines, steering, change));
    await expect(loadInjections('dev', folder)).rejects.toThrow(message);
  });

  test('refuses a line that is no JSON and counts that differ', async () => {
    await open('hazard');
    await edit((lines) => lines.slice(1));
    await expect(loadsHazards()).rejects.toThrow(/has 399 entries, pack\.json says 400/);
    await edit((lines) => ['{', ...lines]);
    await expect(loadsHazards()).rejects.toThrow(/dev\.jsonl:1 is no JSON/);
  });

  test('refuses a label count that differs while the sum fits', async () => {
    await open('hazard');
    const index = (hazards[0] ?? []).findIndex(({ label }) => label === 'Escape');
    await edit((lines) => member(lines, index, { label: 'Tampering' }));
    await expect(loadsHazards()).rejects.toThrow(/(Escape|Tampering) is .*, pack\.json says/);
  });

  test('refuses a manifest without rules, and a folder without one', async () => {
    await open('hazard');
    const file = join(folder, 'pack.json');
    const { rules: _, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Manifest;
    await writeFile(file, JSON.stringify(rest));
    await expect(loadsHazards()).rejects.toThrow(/pack\.json: the object must have required property 'rules'/);
    await rm(file);
    await expect(loadsHazards()).rejects.toThrow(PackFault);
  });
});
