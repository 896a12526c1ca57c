import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rewritten, stepsByTable, measuredOf } from './document.ts';

const file = join(import.meta.dirname, '../../docs/benchmarks.md');

describe('the tables of docs/benchmarks.md', () => {
  test('are those of the measured numbers; rewrite them by "npm run eval -- --tables"', async () => {
    const document = await readFile(file, 'utf8');
    expect(await rewritten(document, file)).toBe(document);
    for (const name of stepsByTable().keys()) expect(document).toContain(`<!-- table: ${name} -->`);
  });

  test('have numbers of the current commands; measure others again', async () => {
    for (const step of [...stepsByTable().values()].flat()) {
      const measured = await measuredOf(step);
      if (measured !== undefined) expect(measured.argv, step.name).toEqual(step.argv);
    }
  });

  test('make no false claims', async () => {
    for (const step of [...stepsByTable().values()].flat()) {
      const result = (await measuredOf(step))?.result;
      if (result?.kind === 'verify') expect(result.verified).toMatchObject({ oracles: result.verified.tasks, noOps: 0, refused: [] });
      if (result?.kind === 'scenarios') expect(result.played.flatMap(({ name, faults }) => (faults.length > 0 ? [name] : []))).toEqual([]);
      if (result?.kind === 'run')
        expect(
          result.groups.reduce((sum, { errors }) => sum + errors, 0),
          step.name,
        ).toBe(0);
    }
  });

  test('change with the numbers', async () => {
    const document = await readFile(file, 'utf8');
    const altered = document.replace(/\| (\d+)( +)\|/, (_, count: string, room: string) => `| ${Number(count) + 1}${room}|`);
    expect(altered).not.toBe(document);
    expect(await rewritten(altered, file)).toBe(document);
  });
});
