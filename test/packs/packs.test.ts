import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadPack } from '@agentfleet/eval/format';
import { fixedSample, requireSound } from '@agentfleet/eval/verify';

const full = process.env['AGENTFLEET_FULL'] === '1';
const sampled = 9;
const repair = await loadPack(fileURLToPath(new URL('./repair', import.meta.url)));

describe('the pack repair', () => {
  it(`has ${full ? 'only' : 'a sample of'} sound tasks`, async () => {
    const tasks = full ? repair.tasks : fixedSample(repair.tasks, sampled);
    const options = { parallel: 2, memoryMiB: 1024, signal: new AbortController().signal };
    expect(await requireSound({ ...repair, tasks }, options)).toHaveLength(tasks.length);
  });

  it('has the mixture that it promises', () => {
    const count = (key: (task: (typeof repair.tasks)[number]) => string): Record<string, number> =>
      Object.fromEntries([...Map.groupBy(repair.tasks, key)].map(([name, members]) => [name, members.length]));
    const byLanguage = count(({ languages }) => languages.join('+'));
    const byKind = count(({ kind }) => kind);
    const byHalf = count(({ half }) => half);
    expect(byLanguage['python']).toBeGreaterThanOrEqual(70);
    expect(byLanguage['javascript']).toBeGreaterThanOrEqual(40);
    expect(byLanguage['typescript']).toBeGreaterThanOrEqual(40);
    expect(byKind['single']).toBeGreaterThanOrEqual(90);
    expect(byKind['multi-edit']).toBeGreaterThanOrEqual(35);
    expect(byKind['multi-file']).toBeGreaterThanOrEqual(25);
    expect(Math.abs((byHalf['dev'] ?? 0) - (byHalf['held-out'] ?? 0))).toBeLessThanOrEqual(repair.tasks.length / 5);
  });
});
