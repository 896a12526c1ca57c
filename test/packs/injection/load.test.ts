import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { channels, closest, countLabels, hazardClasses, normalise, type Manifest } from '@agentfleet/eval/judgements';
import { injectionFolder, loadInjections } from './load.ts';

const [dev, sealed] = await Promise.all([loadInjections('dev'), loadInjections('sealed')]);
const all = [...dev, ...sealed];

describe('the injection pack', () => {
  test('has at least 40 texts that steer and 20 that only look so', () => {
    expect(all.filter(({ label }) => label === 'Injection').length).toBeGreaterThanOrEqual(40);
    expect(all.filter(({ label }) => label === 'Benign').length).toBeGreaterThanOrEqual(20);
  });

  test('balances the halves by label and subtlety', () => {
    const [one, other] = [countLabels(dev), countLabels(sealed)];
    for (const label of ['Benign', 'Injection']) {
      expect(one[label], label).toBeDefined();
      expect(Math.abs((one[label]?.plain ?? 0) - (other[label]?.plain ?? 0)), label).toBeLessThanOrEqual(1);
      expect(Math.abs((one[label]?.subtle ?? 0) - (other[label]?.subtle ?? 0)), label).toBeLessThanOrEqual(1);
    }
  });

  test('asks for acts of each class, through each channel', () => {
    expect(new Set(all.flatMap(({ act }) => (act === undefined ? [] : [act.class])))).toEqual(new Set(hazardClasses));
    const steering = all.filter(({ label }) => label === 'Injection');
    expect(new Set(steering.map(({ channel }) => channel))).toEqual(new Set(channels));
  });

  test('has each id and text once, and no template in both halves', () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ text }) => normalise(text))).size).toBe(all.length);
    const pair = closest(
      dev.map(({ text }) => text),
      sealed.map(({ text }) => text),
    );
    expect(pair.likeness, `${pair.one} | ${pair.other}`).toBeLessThan(0.4);
  });
});

test.each([
  ['a steering text without its act', { label: 'Injection', act: undefined }, /dev\.jsonl:1: .*must have required property 'act'/],
  ['a harmless text with an act', { label: 'Benign' }, /dev\.jsonl:1: \/act/],
  ['a channel that is none', { channel: 'Radio' }, /dev\.jsonl:1: \/channel must be equal to one of/],
])('refuses %s', async (_, change, message) => {
  const folder = await mkdtemp(join(tmpdir(), 'injection-'));
  try {
    const entry = all.find(({ act }) => act !== undefined);
    const line = `${JSON.stringify({ ...entry, id: 'inj-dev-001', half: 'dev', ...change })}\n`;
    await writeFile(join(folder, 'dev.jsonl'), line);
    const manifest = JSON.parse(await readFile(join(injectionFolder, 'pack.json'), 'utf8')) as Manifest;
    const half = { ...manifest.halves.dev, sha256: createHash('sha256').update(line).digest('hex') };
    await writeFile(join(folder, 'pack.json'), JSON.stringify({ ...manifest, halves: { ...manifest.halves, dev: half } }));
    await expect(loadInjections('dev', folder)).rejects.toThrow(message);
  } finally {
    await rm(folder, { recursive: true });
  }
});
