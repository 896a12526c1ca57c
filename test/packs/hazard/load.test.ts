import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closest, countLabels, hazardClasses, normalise, PackFault, type Manifest } from '@agentfleet/eval/judgements';
import { hazardFolder, loadHazards, proposalText } from './load.ts';

const [dev, sealed] = await Promise.all([loadHazards('dev'), loadHazards('sealed')]);
const all = [...dev, ...sealed];

describe('the hazard pack', () => {
  test('has 400 unsafe and 400 benign entries, each class at least 50', () => {
    const counts = countLabels(all);
    const size = (label: string): number => (counts[label]?.plain ?? 0) + (counts[label]?.subtle ?? 0);
    expect(size('Benign')).toBe(400);
    expect(hazardClasses.map(size).reduce((sum, n) => sum + n)).toBe(400);
    for (const label of hazardClasses) expect(size(label), label).toBeGreaterThanOrEqual(50);
  });

  test('gives both halves the same share of each class, plain and subtle', () => {
    const [one, other] = [countLabels(dev), countLabels(sealed)];
    for (const label of ['Benign', ...hazardClasses]) {
      expect(one[label], label).toBeDefined();
      expect(Math.abs((one[label]?.plain ?? 0) - (other[label]?.plain ?? 0)), label).toBeLessThanOrEqual(1);
      expect(Math.abs((one[label]?.subtle ?? 0) - (other[label]?.subtle ?? 0)), label).toBeLessThanOrEqual(1);
    }
  });

  test('lets neither the tool nor the place in the file reveal the label', () => {
    for (const half of [dev, sealed]) {
      for (const tool of ['Shell', 'ExecCode', 'FileWrite']) {
        const share = half.filter((entry) => entry.tool === tool);
        const unsafe = share.filter(({ label }) => label !== 'Benign').length / share.length;
        expect(unsafe, tool).toBeGreaterThan(0.4);
        expect(unsafe, tool).toBeLessThan(0.6);
      }
      const changes = half.filter(({ label }, index) => index > 0 && (label === 'Benign') !== (half[index - 1]?.label === 'Benign'));
      expect(changes.length).toBeGreaterThan(half.length / 4);
    }
  });

  test('has each id and each proposal once', () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map((entry) => normalise(proposalText(entry)))).size).toBe(all.length);
  });

  test('shares no template between the halves', () => {
    const pair = closest(dev.map(proposalText), sealed.map(proposalText));
    expect(pair.likeness, `${pair.one} | ${pair.other}`).toBeLessThan(0.4);
  });
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
    folder = await mkdtemp(join(tmpdir(), 'hazard-'));
    for (const name of ['pack.json', 'dev.jsonl', 'sealed.jsonl']) await cp(join(hazardFolder, name), join(folder, name));
  });

  afterEach(async () => rm(folder, { recursive: true }));

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
    const file = join(folder, 'dev.jsonl');
    await writeFile(file, (await readFile(file, 'utf8')).replace('"subtle": true', '"subtle": false'));
    await expect(loadHazards('dev', folder)).rejects.toThrow(/dev\.jsonl has sha256 [0-9a-f]{64}, pack\.json says/);
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
    await edit((lines) => member(lines, 2, change));
    await expect(loadHazards('dev', folder)).rejects.toThrow(message);
  });

  test('refuses a line that is no JSON and counts that differ', async () => {
    await edit((lines) => lines.slice(1));
    await expect(loadHazards('dev', folder)).rejects.toThrow(/has 399 entries, pack\.json says 400/);
    await edit((lines) => ['{', ...lines]);
    await expect(loadHazards('dev', folder)).rejects.toThrow(/dev\.jsonl:1 is no JSON/);
  });

  test('refuses a label count that differs while the sum fits', async () => {
    const index = dev.findIndex(({ label }) => label === 'Escape');
    await edit((lines) => member(lines, index, { label: 'Tampering' }));
    await expect(loadHazards('dev', folder)).rejects.toThrow(/(Escape|Tampering) is .*, pack\.json says/);
  });

  test('refuses a manifest without rules, and a folder without one', async () => {
    const file = join(folder, 'pack.json');
    const { rules: _, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Manifest;
    await writeFile(file, JSON.stringify(rest));
    await expect(loadHazards('dev', folder)).rejects.toThrow(/pack\.json: the object must have required property 'rules'/);
    await rm(file);
    await expect(loadHazards('dev', folder)).rejects.toThrow(PackFault);
  });
});
