import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mutants } from './mutants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('planted bugs', () => {
  it.each([...new Set(mutants.map(({ file }) => file))])('of %s replace text that stands there once', (file) => {
    const text = readFileSync(`${root}${file}`, 'utf8');
    const unfit = mutants.filter((one) => one.file === file && (text.split(one.find).length !== 2 || one.find === one.replace));
    expect(unfit.map(({ guarantee }) => guarantee)).toEqual([]);
  });

  it('break one guarantee each', () => {
    const guarantees = mutants.map(({ guarantee, file }) => `${guarantee} (${file})`);
    expect(guarantees.filter((one, at) => guarantees.indexOf(one) !== at)).toEqual([]);
  });
});
