import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Features, ScoreItem } from '@agentfleet/protocol/inference';
import { loadEnergyModel } from './scorer.ts';

const folder = join(import.meta.dirname, '..');
const bytes = await readFile(join(folder, '../../weights/energy-features-v1.json'));
const fixture = JSON.parse(await readFile(join(folder, 'testdata/held-out.json'), 'utf8')) as {
  readonly energy: readonly { readonly item: ScoreItem; readonly right: boolean; readonly plausible: boolean }[];
};
const weights = { lambda: 1, heads: { Code: 0.7, Shell: 1.2, Editor: 0.6 } };
const model = loadEnergyModel(bytes);
const item = fixture.energy[0]?.item as ScoreItem;
const early = ({ proposalShare, rank, edits, files, charsAdded, charsRemoved, suspicion }: Features): Features =>
  ({ proposalShare, rank, edits, files, charsAdded, charsRemoved, suspicion }) as Features;

/** Share of pairs of a right and a wrong one in which the right one has the lower energy. */
function ordered(energies: readonly { readonly energy: number; readonly right: boolean }[]): number {
  const pairs = energies
    .filter(({ right }) => right)
    .flatMap((good) => energies.filter(({ right }) => !right).map((bad) => [good, bad] as const));
  return pairs.filter(([good, bad]) => good.energy < bad.energy).length / pairs.length;
}

describe('the committed energy model', () => {
  it('reports its origin, and its digest is that of the file', () => {
    expect(model.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(model.about).toMatchObject({ artifact: 'features-v1', trainedHeads: 'Code' });
    expect(model.about['data']).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('ranks held-out candidates after they ran, and better than chance before', () => {
    const after = fixture.energy.map(({ item, right }) => ({ energy: model.score(item, weights).energy, right }));
    const before = fixture.energy.map(({ item, right }) => ({
      energy: model.score({ ...item, features: early(item.features) }, weights).energy,
      right,
    }));
    expect(ordered(after)).toBeGreaterThan(0.9);
    expect(ordered(before)).toBeGreaterThan(0.6);
  });

  it('is the sum of its two parts, and the second is 0 before the act', () => {
    const { energy, model: content, features } = model.score(item, weights);
    expect(energy).toBe(content + features);
    expect(model.score({ ...item, features: early(item.features) }, weights).features).toBe(0);
  });

  it('scales each part by its weight, and reads the probability from the calibration', () => {
    const once = model.score(item, weights);
    const twice = model.score(item, { lambda: 2, heads: { ...weights.heads, Code: 2.1 } });
    expect(twice.model).toBeCloseTo(2 * once.model, 9);
    expect(twice.features).toBeCloseTo(3 * once.features, 9);
    expect(twice.pSuccess).toBe(once.pSuccess);
  });

  it.each(['testsBroken', 'testsFailed', 'compileErrors', 'timedOut', 'crashed', 'testsSkipped'] as const)(
    'never lowers the energy nor raises the probability for more %s',
    (name) => {
      fc.assert(
        fc.property(fc.nat({ max: 40 }), fc.nat({ max: 40 }), fc.constantFrom(...fixture.energy), (a, more, { item }) => {
          const at = (value: number) => model.score({ ...item, features: { ...item.features, testsTotal: 50, [name]: value } }, weights);
          const [less, greater] = [at(a), at(a + more)];
          expect(greater.energy).toBeGreaterThanOrEqual(less.energy);
          expect(greater.pSuccess as number).toBeLessThanOrEqual(less.pSuccess as number);
        }),
      );
    },
  );

  it('gives equal answers to equal items', () => {
    expect(loadEnergyModel(bytes).score(item, weights)).toEqual(model.score(structuredClone(item), weights));
  });

  it('answers finite numbers to whatever the schema lets through', () => {
    const features = fc.record(
      {
        proposalShare: fc.double({ min: 0, max: 1, noNaN: true }),
        charsAdded: fc.nat(),
        likelihoodGain: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.constantFrom('Code', 'Shell', 'Editor'), features, (text, operator, head, known) => {
        const { energy } = model.score({ id: 'x', head, text, operator, features: known }, weights);
        expect(energy).toSatisfy(Number.isFinite);
      }),
    );
  });

  it('has no probability for heads without data', () => {
    for (const head of ['Shell', 'Editor'] as const) expect(model.score({ ...item, head }, weights).pSuccess).toBeNull();
  });
});

describe('weights that do not fit', () => {
  it.each([
    ['not JSON', Buffer.from('x'), /not JSON/],
    ['another format', changed((file) => ({ ...file, format: 'other' })), /format is other/],
    ['a weight of the wrong sign', changed((file) => withCode(file, { executed: { 'testsBroken>0': -1 } })), /wrong sign/],
    [
      'a calibration that rises',
      changed((file) => withCode(file, { calibration: { before: null, after: { energies: [0, 1], probabilities: [0, 1] } } })),
      /fall/,
    ],
    ['another size', changed((file) => withCode(file, { content: { hidden: 1 } })), /sizes/],
  ])('%s: refused with a cure', (_, bytes, why) => {
    expect(() => loadEnergyModel(bytes)).toThrow(why);
    expect(() => loadEnergyModel(bytes)).toThrow(/train\/main\.ts/);
  });
});

type Json = Readonly<Record<string, unknown>>;

function changed(change: (file: Json) => Json): Buffer {
  return Buffer.from(JSON.stringify(change(JSON.parse(bytes.toString('utf8')) as Json)));
}

function withCode(file: Json, change: Json): Json {
  const heads = file['heads'] as { readonly Code: { readonly content: Json } };
  const content = change['content'] === undefined ? heads.Code.content : { ...heads.Code.content, ...(change['content'] as Json) };
  return { ...file, heads: { ...heads, Code: { ...heads.Code, ...change, content } } };
}

describe('features that the model reads', () => {
  const names = [
    'proposalShare',
    'rank',
    'edits',
    'files',
    'charsAdded',
    'charsRemoved',
    'suspicion',
    'likelihoodGain',
    'specCosine',
  ] as const;

  it.each(['Code', 'Shell', 'Editor'] as const)('are reported for the head %s: exactly these features change its energies', (head) => {
    const energy = (features: Features): number => model.score({ ...item, head, features }, weights).energy;
    const changing = names.filter((name) => [0.1, 0.5, 0.9].some((value) => energy({ [name]: value }) !== energy({})));
    expect(changing).toEqual(names.filter((name) => model.reads(head).includes(name)));
  });

  it('leave out features that its data lacked', () => {
    expect(model.reads('Code')).not.toContain('specCosine');
    expect(model.reads('Code')).toContain('suspicion');
  });
});
