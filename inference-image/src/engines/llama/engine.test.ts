import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { example } from './propose.ts';
import { createLlamaEngine, llamaLibrary, llamaWeights, type LlamaEngine } from './engine.ts';
import { asking } from '../testing/request.ts';

const model = join(import.meta.dirname, '../../../llama/dist/weights', llamaWeights);
const present = existsSync(model) && existsSync(llamaLibrary());
const options = { threads: 1, contextTokens: 1024, now: () => performance.now() };
const { signal } = new AbortController();
const [file = { path: '', content: '' }] = example.files;
/** Only one line: writing takes seconds. */
const spectrum = { passed: 0, failed: 1, lines: [{ path: file.path, line: 3, passed: 0, failed: 1 }] };
const request = asking(file, {
  k: 1,
  budgetMillis: 60_000,
  localisation: { spectrum, failingTests: [{ id: 't', message: 'AssertionError: 1 != 5: add(2, 3)' }] },
});

test('without weights the image that has them is named', async () => {
  await expect(createLlamaEngine({ ...options, model: '/nowhere.gguf' })).rejects.toThrow(
    /no \/nowhere\.gguf: the image inference-llama has it/,
  );
});

test('without the package the image that has it is named', async () => {
  const library = './no-such-package.js';
  await expect(createLlamaEngine({ ...options, model: import.meta.filename, library })).rejects.toThrow(
    /cannot load .*image inference-llama/,
  );
});

describe.skipIf(!present)('with weights (skipped without them: node hack/bootstrap.mjs hack/images/main.ts llama)', () => {
  let engine: LlamaEngine;
  beforeAll(async () => {
    engine = await createLlamaEngine({ ...options, model });
  });
  afterAll(() => engine.close());

  test('it finds the repaired example likelier than a broken one', async () => {
    await engine.prove();
    const { scores, tokens, truncated } = await engine.prior(example, signal);
    expect(scores[0]?.gainNats).toBeGreaterThan(0);
    expect(scores[1]?.gainNats).toBeLessThan(0);
    expect([tokens > 0, truncated]).toEqual([true, false]);
  });

  test('equal requests get equal answers, whatever was asked in between', async () => {
    const before = [await engine.prior(example, signal), await engine.generate([request], signal)];
    const after = [await engine.prior(example, signal), await engine.generate([request], signal)];
    const timeless = (answers: unknown): unknown => JSON.parse(JSON.stringify(answers).replaceAll(/"millis":\d+/g, '"millis":0'));
    expect(timeless(after)).toEqual(timeless(before));
  });

  test('its proposal fits the schema and is an edit of a line', async () => {
    const [outcome] = await engine.generate([request], signal);
    if (outcome === undefined || 'error' in outcome) throw new Error('refused', { cause: outcome?.error });
    for (const { edits, energy, score } of outcome.answer.candidates) {
      expect(edits).toHaveLength(1);
      expect(energy).toBeGreaterThan(0);
      expect(score).toBeGreaterThan(0);
    }
    expect(outcome.answer.stats.considered).toBe(1);
  });
});
