import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { plantedBugs, plant, type PlantedBug } from './plant.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bugs = plantedBugs(root);
const program = [
  'export function open(): void { check(); begin(); }',
  'class Fence { async #raise(): Promise<void> { await this.file.write(1); } }',
].join('\n');
const go = 'package p\n\nfunc (f *folder) Hide(n int) error {\n\treturn f.hide(n)\n}\n';

function planted(symbol: string, bug: PlantedBug['bug']): string {
  const at = mkdtempSync(join(tmpdir(), 'plant-'));
  writeFileSync(join(at, 'a.ts'), program);
  writeFileSync(join(at, 'b.go'), go);
  return plant(at, { promise: '', folder: '.', symbol, bug, test: '' }).text;
}

describe('a bug is planted by symbol', () => {
  it.each<[string, PlantedBug['bug'], string]>([
    ['open', { first: 'return;' }, 'void { return;  check()'],
    ['open', { without: 'check' }, 'void { ; begin()'],
    ['Fence.#raise', { without: 'write' }, 'Promise<void> { ; }'],
    ['Hide', { first: 'return nil' }, 'error { return nil\n'],
  ])('%s %j', (symbol, bug, text) => {
    expect(planted(symbol, bug)).toContain(text);
  });

  it.each<[string, PlantedBug['bug'], RegExp]>([
    ['close', { first: 'return;' }, /close is 0 times/],
    ['open', { without: 'end' }, /open calls end 0 times/],
  ])('%s %j is refused', (symbol, bug, error) => {
    expect(() => planted(symbol, bug)).toThrow(error);
  });
});

describe('planted bugs', () => {
  it.each(bugs)('$promise: $symbol is there once', (bug) => {
    expect(plant(root, bug).text).not.toBe('');
  });

  it.each(bugs.filter(({ test }) => !test.startsWith('./')))('$promise: its test is there', ({ test }) => {
    expect(existsSync(join(root, test)), test).toBe(true);
  });

  it('break one promise each', () => {
    expect(new Set(bugs.map(({ promise }) => promise)).size).toBe(bugs.length);
  });
});
