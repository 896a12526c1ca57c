import { describe, expect, it } from 'vitest';
import type { Baseline } from '../attempt/checkRun.ts';
import { localise } from './localise.ts';
import type { Scope } from '../attempt/scope.ts';

async function focusOn(texts: Readonly<Record<string, string>>): ReturnType<typeof localise> {
  const read = (path: string): Promise<Buffer> => Promise.resolve(Buffer.from(texts[path] ?? ''));
  const why = (path: string): object | null => (path.startsWith('check') ? { kind: 'Entry' } : null);
  const baseline = { tree: Object.keys(texts), checks: [], protectedSet: { why, derived: () => false } };
  return localise({ session: { read } } as unknown as Scope, baseline as unknown as Baseline, []);
}

describe('where experts are to look', () => {
  it('is at programs, as long as there are some', async () => {
    const { domain, files } = await focusOn({ 'a.py': 'x = 1\n', 'notes.txt': 'n\n', 'check.sh': 'true\n' });
    expect([domain, files.map(({ path }) => path)]).toEqual(['python', ['a.py']]);
  });

  it('is at data and texts where no program may be edited', async () => {
    const { domain, files } = await focusOn({ 'b.json': '{}\n', 'a.txt': 'a\n', 'check.py': 'pass\n', 'empty.txt': '' });
    expect([domain, files.map(({ path }) => path)]).toEqual(['*', ['a.txt', 'b.json']]);
  });

  it('is nowhere in an empty workspace, and experts are asked all the same', async () => {
    expect(await focusOn({ 'check.sh': 'true\n' })).toMatchObject({ domain: '*', files: [], localisation: { failingTests: [] } });
  });
});
