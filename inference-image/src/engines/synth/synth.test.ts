import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate, GenerateRequest } from '@agentfleet/protocol/inference';
import type { Generated } from '../../base/engine.ts';
import { example } from './propose.ts';
import { Grammars, installedGrammars, SynthEngine } from './index.ts';
import { rules } from './python/file.ts';
import { SourceParser } from './language/syntax.ts';

const path = 'm.py';
const content =
  'NAME = "é😀"\n\ndef mean(values):\n    total = 1\n    for value in values:\n        total -= value\n    return total / len(values)\n';
const lines = [4, 5, 6, 7].map((line) => ({ path, line, passed: 0, failed: 1 }));
const request: GenerateRequest = {
  ...example,
  files: [{ path, content }],
  localisation: { spectrum: { passed: 0, failed: 1, lines }, failingTests: [] },
  k: 64,
};

let grammars: Grammars;
let parser: SourceParser;
let engine: SynthEngine;
let clock = 0;
beforeAll(async () => {
  grammars = await Grammars.open(installedGrammars());
  parser = new SourceParser(await grammars.load('python'), rules);
  engine = new SynthEngine({ grammars, modelDigest: `sha256:${'0'.repeat(64)}`, now: () => clock });
});
afterAll(() => engine.close());

async function ask(change: Partial<GenerateRequest> = {}, from = engine): Promise<Generated> {
  const [outcome] = await from.generate([{ ...request, ...change }], new AbortController().signal);
  if (outcome === undefined || 'error' in outcome) throw outcome?.error;
  return outcome.answer;
}

async function all(change: Partial<GenerateRequest> = {}): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (let answer = await ask(change); answer.candidates.length > 0; answer = await ask({ ...change, exclude: found.map(({ id }) => id) }))
    found.push(...answer.candidates);
  return found;
}

function patch({ edits }: Candidate, source = content): string {
  let bytes = Buffer.from(source);
  for (const { range, before, after } of edits.toReversed()) {
    expect(bytes.subarray(range.startByte, range.endByte).toString()).toBe(before);
    bytes = Buffer.concat([bytes.subarray(0, range.startByte), Buffer.from(after), bytes.subarray(range.endByte)]);
  }
  return bytes.toString();
}

describe('the Synth engine', () => {
  it.each([
    [
      'a constant imported beside it',
      'from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal\n\n\ndef price(net, rate):\n    gross = net * (1 + rate)\n    return gross.quantize(Decimal("0.01"), rounding=ROUND_DOWN)\n',
      'rounding=ROUND_HALF_UP',
    ],
    [
      'a constant of the module',
      'MAX_DAYS = 31\nMAX_MONTHS = 12\nNAME = "cal"\n\n\ndef valid(month):\n    number = int(month)\n    return 0 < number <= MAX_DAYS\n',
      '<= MAX_MONTHS',
    ],
    [
      'a function of the family that takes as much',
      'def total_of(items):\n    return sum(items)\n\n\ndef mean_of(items):\n    return sum(items) / len(items)\n\n\ndef ratio_of(one, other):\n    return one / other\n\n\ndef report(items):\n    return f"mean {total_of(items)}"\n',
      'mean {mean_of(items)}',
    ],
    [
      'an attribute of the module that the file does not name',
      'import decimal\n\n\ndef price(net, rate):\n    gross = net * (1 + rate)\n    return gross.quantize(decimal.Decimal("0.01"), rounding=decimal.ROUND_DOWN)\n',
      'rounding=decimal.ROUND_HALF_UP',
    ],
    [
      'an attribute of the class before others of it',
      'class Mode:\n    SIZE = 1\n    KEEP_OLD = 2\n    KEEP_NEW = 3\n\n\ndef known(mode):\n    return mode in (Mode.SIZE, Mode.KEEP_NEW)\n\n\ndef newest(mode):\n    return mode == Mode.KEEP_OLD\n',
      'mode == Mode.KEEP_NEW',
    ],
  ])('proposes siblings first: %s', async (_, source, wanted) => {
    const last = source.trimEnd().split('\n').length;
    const traced = [last - 1, last].map((line) => ({ path, line, passed: 0, failed: 1 }));
    const change = {
      files: [{ path, content: source }],
      localisation: { spectrum: { passed: 0, failed: 1, lines: traced }, failingTests: [] },
    };
    const texts = (await all(change)).map((candidate) => patch(candidate, source));
    const at = texts.findIndex((text) => text.includes(wanted));
    expect(at, texts.slice(0, 5).join('---\n')).toBeGreaterThanOrEqual(0);
    expect(at).toBeLessThan(8);
  });

  it('answers equal requests equally, also without its cache', async () => {
    const other = new SynthEngine({ grammars, modelDigest: engine.modelDigest, now: () => 0 });
    const [first, again, fresh] = [await ask(), await ask(), await ask({}, other)];
    expect(again).toEqual(first);
    expect(fresh.candidates).toEqual(first.candidates);
  });

  it('orders equal scores by the seed and changes nothing else', async () => {
    const [one, other] = [await all({ seed: 1 }), await all({ seed: 2 })];
    expect(other.map(({ id }) => id)).not.toEqual(one.map(({ id }) => id));
    expect(other.map(({ id }) => id).sort()).toEqual(one.map(({ id }) => id).sort());
    expect(other.map(({ score }) => score)).toEqual(one.map(({ score }) => score));
  });

  it('continues after the tried ones, never twice with one text, until none is left', async () => {
    const candidates = await all();
    expect(new Set(candidates.map(({ id }) => id)).size).toBe(candidates.length);
    expect(new Set(candidates.map((candidate) => patch(candidate))).size).toBe(candidates.length);
    const last = await ask({ exclude: candidates.map(({ id }) => id) });
    expect(last).toMatchObject({ candidates: [], exhausted: true, margin: null, entropyNats: 0 });
  });

  it('returns only text that parses, with byte ranges that hold `before`', async () => {
    for (const candidate of await all()) expect(parser.accepts(patch(candidate))).toBe(true);
  });

  it('drops proposals of an operator that Python refuses', async () => {
    // The missing `else` may be `continue`, which only a loop allows.
    const source = 'def f(xs):\n    if xs:\n        g(xs)\n    for x in xs:\n        continue\n';
    const files = [{ path, content: source }];
    const localisation = { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] };
    const candidates = await all({ files, localisation });
    expect(candidates.map((candidate) => patch(candidate, source)).filter((text) => !parser.accepts(text))).toEqual([]);
    expect(candidates.length).toBeLessThan((await ask({ files, localisation })).stats.considered);
  });

  it('returns scores of one pool: falling, summing to at most one', async () => {
    const { candidates, returnedMass, margin, entropyNats, stats } = await ask();
    const scores = candidates.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.reduce((sum, score) => sum + score, 0)).toBeCloseTo(returnedMass);
    expect(returnedMass).toBeLessThan(1);
    expect(margin).toBeCloseTo(Math.log((scores[0] ?? 0) / (scores[1] ?? 1)));
    expect(entropyNats).toBeLessThanOrEqual(Math.log(stats.considered));
  });

  it('ranks lines that failing tests run before others', async () => {
    const spectrum = { passed: 3, failed: 1, lines: [...lines.slice(0, 3).map((line) => ({ ...line, passed: 3 })), ...lines.slice(3)] };
    const { candidates } = await ask({ localisation: { spectrum, failingTests: [] }, k: 5 });
    expect(new Set(candidates.map(({ location }) => location.line))).toEqual(new Set([7]));
  });

  it('repairs two bugs by a pair of edits, and only when asked for pairs', async () => {
    const repaired = content.replace('= 1', '= 0').replace('-=', '+=');
    expect((await all()).map((candidate) => patch(candidate))).not.toContain(repaired);
    const pairs = await all({ maxEdits: 2 });
    expect(pairs.map((pair) => patch(pair))).toContain(repaired);
    expect(new Set(pairs.map((pair) => patch(pair))).size).toBe(pairs.length);
  });

  it('reports when the budget ended the search, and caches nothing of it', async () => {
    const functions = Array.from({ length: 12 }, (_, at) => content.replace('mean', `mean${at}`)).join('\n');
    const rushed = new SynthEngine({ grammars, modelDigest: '', now: () => (clock += 10) });
    const files = [{ path, content: functions }];
    const localisation = { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] };
    const [cut, whole] = [await ask({ files, localisation, budgetMillis: 1 }, rushed), await ask({ files, localisation }, rushed)];
    expect(cut).toMatchObject({ truncated: true, exhausted: false });
    expect(whole).toMatchObject({ truncated: false });
    expect(whole.stats.considered).toBeGreaterThan(cut.stats.considered);
  });

  it('leaves places that no failing test reached aside where there is enough to try', async () => {
    const others = Array.from({ length: 40 }, (_, at) => content.slice(content.indexOf('def')).replace('mean', `mean${at}`));
    const functions = [content, ...others].join('\n');
    const { candidates, stats, truncated } = await ask({ files: [{ path, content: functions }] });
    expect(candidates.every(({ location }) => location.line <= 7)).toBe(true);
    expect(truncated).toBe(true);
    expect(stats.considered).toBeLessThan(1500);
  });

  it('refuses files that it cannot read, and stops for callers that left', async () => {
    await expect(ask({ files: [{ path: 'a.txt', content: 'x' }] })).rejects.toMatchObject({ code: 'AF_LANGUAGE_UNSUPPORTED' });
    await expect(ask({ files: [{ path, content: 'def (' }] })).rejects.toMatchObject({ code: 'AF_LANGUAGE_UNSUPPORTED' });
  });

  it('proves itself on its own example', async () => {
    await expect(engine.prove()).resolves.toBeUndefined();
  });

  it('searches a function of very many names, each made from another', async () => {
    const many = Array.from({ length: 9000 }, (_, at) => `    v${at} = v${at - 1} + 1\n`).join('');
    const files = [{ path, content: `def f():\n${many}` }];
    expect(
      (await ask({ files, localisation: { ...request.localisation, spectrum: { passed: 0, failed: 0, lines: [] } }, k: 2 })).candidates,
    ).toHaveLength(2);
  }, 20_000);
});
