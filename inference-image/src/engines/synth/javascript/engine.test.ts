import { stripTypeScriptTypes } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate, GenerateRequest } from '@agentfleet/protocol/inference';
import type { Generated } from '../../../base/engine.ts';
import { example } from '../propose.ts';
import { Grammars, installedGrammars, SynthEngine } from '../index.ts';

let grammars: Grammars;
let engine: SynthEngine;
beforeAll(async () => {
  grammars = await Grammars.open(installedGrammars());
  engine = new SynthEngine({ grammars, modelDigest: '', now: () => 0 });
});
afterAll(() => engine.close());

const unknown = { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] };

async function ask(files: GenerateRequest['files'], change: Partial<GenerateRequest> = {}): Promise<Generated> {
  const request = { ...example, files, localisation: unknown, k: 64, ...change };
  const [outcome] = await engine.generate([request], new AbortController().signal);
  if (outcome === undefined || 'error' in outcome) throw outcome?.error;
  return outcome.answer;
}

async function all(files: GenerateRequest['files']): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (let answer = await ask(files); answer.candidates.length > 0; answer = await ask(files, { exclude: found.map(({ id }) => id) }))
    found.push(...answer.candidates);
  return found;
}

function patch({ edits }: Candidate, source: string): string {
  let bytes = Buffer.from(source);
  for (const { range, after } of edits.toReversed())
    bytes = Buffer.concat([bytes.subarray(0, range.startByte), Buffer.from(after), bytes.subarray(range.endByte)]);
  return bytes.toString();
}

const content = `import type { Row } from './row.ts';
import { clean } from './clean.ts';

interface Total<Value = 1> {
  readonly sum: number;
}

type Pick3 = 'a' | 'b' | 3;

export function total<Item extends Row>(rows: readonly Item[], start: number = 0, unit?: 'g' | 'kg'): Total {
  let sum: number = start;
  for (const row of rows as readonly Row[]) {
    sum -= (row.value satisfies number) * 2;
  }
  const names: Map<string, number> = new Map<string, number>();
  return { sum: clean(sum, unit!) };
}
`;

describe('the Synth engine on TypeScript', () => {
  it('returns only text whose types can still be stripped, and never edits a type', async () => {
    const candidates = await all([{ path: 'total.ts', content }]);
    expect(candidates.length).toBeGreaterThan(100);
    const types = ['<Value = 1>', "type Pick3 = 'a' | 'b' | 3;", '<Item extends Row>', ': readonly Item[]', ": 'g' | 'kg'"];
    for (const candidate of candidates) {
      const text = patch(candidate, content);
      expect(() => stripTypeScriptTypes(text), text).not.toThrow();
      for (const type of types) expect(text).toContain(type);
      expect(text.split('\n').slice(0, 9)).toEqual(content.split('\n').slice(0, 9));
    }
    expect(candidates.map((candidate) => patch(candidate, content))).toContain(content.replace('sum -=', 'sum +='));
  });

  it('repairs files of several languages in one request, each by its own rules', async () => {
    const files = [
      { path: 'a.py', content: 'def add(a, b):\n    return a - b\n' },
      { path: 'b.mjs', content: 'export const add = (a, b) => a - b;\n' },
      { path: 'c.tsx', content: 'export const Add = ({ a, b }: Props) => <b>{a - b}</b>;\n' },
      { path: 'd.txt', content: 'a - b' },
    ];
    const candidates = await all(files);
    for (const { path, content } of files.slice(0, 3)) {
      const texts = candidates.filter(({ location }) => location.path === path).map((candidate) => patch(candidate, content));
      expect(texts).toContain(content.replace('a - b', 'a + b'));
    }
    expect(candidates.some(({ location }) => location.path === 'd.txt')).toBe(false);
    expect((await ask(files)).stats.parsed).toBe(3);
  });

  it('searches first where a trace of Node points', async () => {
    const source = 'export function f(a) {\n  const b = a.c;\n  const d = a.e;\n  return b - d;\n}\n';
    const trace = 'TypeError: x\n    at f (file:///workspace/src/f.js:3:15)\n    at file:///workspace/src/f.test.js:4:2\n';
    const failingTests = [{ id: 't', message: 'TypeError: x', trace }];
    const { candidates } = await ask([{ path: 'src/f.js', content: source }], { localisation: { ...unknown, failingTests }, k: 3 });
    expect(candidates.map(({ location }) => location.line)).toEqual([3, 3, 3]);
  });

  it('loads a grammar for the first file that needs it', async () => {
    const fresh = await Grammars.open(installedGrammars());
    const other = new SynthEngine({ grammars: fresh, modelDigest: '', now: () => 0 });
    await other.generate([{ ...example, files: [{ path: 'a.mts', content: 'f(1);\n' }] }], new AbortController().signal);
    expect(fresh.loaded).toEqual(['typescript']);
    await other.close();
  });
});

it('proposes calls that do not fit their arguments last, as in Python', async () => {
  const path = 'report.js';
  const source = `export function total(items) {
  return items.length;
}

export function ratio(one, other) {
  return one / other;
}

export function scaled(items, unit = 1) {
  return items.length * unit;
}

export function report(items) {
  return total(items);
}
`;
  const texts = (await all([{ path, content: source }])).map((candidate) => patch(candidate, source));
  const at = (call: string): number => texts.findIndex((text) => text.includes(`return ${call}(items);`));
  expect(at('scaled')).toBeGreaterThanOrEqual(0);
  expect(at('ratio') === -1 || at('ratio') > 3 * at('scaled'), `${at('scaled')} and ${at('ratio')} of ${texts.length}`).toBe(true);
});
