import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ControlStep } from '@agentfleet/protocol/inference';
import { isHarm } from './encode.ts';
import { readPlannerFile, writePlannerFile } from './file.ts';
import { loadPlanner } from './planner.ts';
import { shadowOf } from './planner.ts';

const folder = join(import.meta.dirname, '..');
const bytes = await readFile(join(folder, '../../weights/planner-gru512.bin'));
const fixture = JSON.parse(await readFile(join(folder, 'testdata/held-out.json'), 'utf8')) as {
  readonly planner: readonly (readonly ControlStep[])[];
};
const planner = loadPlanner(bytes);
const steps = fixture.planner.flat().slice(0, 24);
const control = (steps: readonly ControlStep[], experts = ['a']) => planner.control({ steps: [...steps], experts });

describe('the committed planner', () => {
  it('is small, and its digest is that of the file', () => {
    expect(bytes.length).toBeLessThan(2 * 1024 * 1024);
    expect(planner.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  });

  it('reports its measurement, and acts only when it beats the uninformed baseline', () => {
    const { heldOut, data } = readPlannerFile(bytes).header;
    expect(data).toMatch(/^sha256:/);
    expect(planner.about).toMatchObject({ plan: 512, interval: 8, riskAuc: heldOut?.riskAuc });
    expect(planner.shadow).toBe(shadowOf(heldOut));
  });

  it('knows which held-out steps do harm better than a constant does', () => {
    const scored = fixture.planner.flatMap((steps) =>
      steps.map((step, at) => ({ risk: control(steps.slice(0, at)).risk, harm: isHarm(step.result) })),
    );
    const pairs = scored
      .filter(({ harm }) => harm)
      .flatMap((bad) => scored.filter(({ harm }) => !harm).map((good) => [bad, good] as const));
    expect(pairs.length).toBeGreaterThan(300);
    expect(pairs.filter(([bad, good]) => bad.risk > good.risk).length / pairs.length).toBeGreaterThan(0.6);
  });

  it('gives equal answers to equal requests, and shares that sum to one', () => {
    const answer = control(steps, ['a', 'b', 'c']);
    expect(loadPlanner(bytes).control({ steps: structuredClone([...steps]), experts: ['a', 'b', 'c'] })).toEqual(answer);
    expect(answer.experts.reduce((sum, { p }) => sum + p, 0)).toBeCloseTo(1, 9);
    expect(answer.risk).toBeGreaterThan(0);
    expect(answer.risk).toBeLessThan(1);
  });

  it('ticks once per eight steps; a step that is only planned is none', () => {
    const planned: ControlStep = { ...(steps[0] as ControlStep), result: 'None' };
    const ticks = [0, 7, 8, 15, 16].map((count) => control(steps.slice(0, count)).tick);
    expect(ticks).toEqual([0, 0, 1, 1, 2]);
    expect(control([...steps.slice(0, 7), planned]).tick).toBe(0);
  });

  it('remembers steps before the last tick', () => {
    const harmful: ControlStep = { ...(steps[0] as ControlStep), result: 'Worse', testsFailing: 9 };
    const later = steps.slice(0, 8);
    expect(control([...Array.from({ length: 8 }, () => harmful), ...later]).risk).not.toBeCloseTo(control([...later, ...later]).risk, 6);
  });

  it('has no opinion of experts without results', () => {
    expect(control([], ['a', 'b']).experts.map(({ p }) => p)).toEqual([0.5, 0.5]);
  });

  it('weighs experts by their results only when its weights support it', () => {
    const step = (expert: number, result: ControlStep['result']): ControlStep => ({ ...(steps[0] as ControlStep), expert, result });
    const history = Array.from({ length: 6 }, () => [step(0, 'Worse'), step(1, 'Better')]).flat();
    const { header, weights } = readPlannerFile(bytes);
    expect(control(history, ['a', 'b']).experts.map(({ p }) => p)).toEqual([0.5, 0.5]);
    const knowing = loadPlanner(writePlannerFile(header, { ...weights, experts: Float32Array.of(2, -2, 0) }));
    const [worse, better] = knowing.control({ steps: history, experts: ['a', 'b'] }).experts;
    expect(better?.p).toBeGreaterThan(worse?.p ?? 1);
  });

  it('answers to the longest history that may be asked', () => {
    const long = Array.from({ length: 512 }, (_, at) => steps[at % steps.length] as ControlStep);
    expect(control(long).tick).toBe(64);
  });
});

describe('the shadow', () => {
  const figures = { steps: 1, riskAucOfPlannedStep: 1, bestSingleFeature: '', bestSingleFeatureAuc: 1, deliberateAuc: 1, constantAuc: 0.5 };

  it('is reported for unmeasured weights, and for those no better than random ones', () => {
    expect(shadowOf(null)).toContain('never measured');
    expect(shadowOf({ ...figures, riskAuc: 0.6, randomWeightsAuc: 0.61 })).toContain('0.610');
    expect(shadowOf({ ...figures, riskAuc: 0.49, randomWeightsAuc: 0.4 })).toContain('no better');
    expect(shadowOf({ ...figures, riskAuc: 0.7, randomWeightsAuc: 0.6 })).toBeNull();
  });
});

describe('weights that do not fit', () => {
  const { header, weights } = readPlannerFile(bytes);

  it('are read back as written', () => {
    const again = readPlannerFile(writePlannerFile(header, weights)).weights;
    for (const [name, tensor] of Object.entries(weights))
      expect(
        again[name as 'out'].every((value, at) => Math.abs(value - (tensor[at] as number)) < 1e-6),
        name,
      ).toBe(true);
  });

  it.each([
    ['something else', Buffer.from('{}'), /does not begin/],
    ['a changed number', Buffer.concat([bytes.subarray(0, -1), Buffer.of(bytes.at(-1) === 1 ? 2 : 1)]), /numbers are not those/],
    ['a lost end', bytes.subarray(0, -9), /numbers are not those/],
  ])('%s: refused with a cure', (_, wrong, why) => {
    expect(() => loadPlanner(wrong)).toThrow(why);
    expect(() => loadPlanner(wrong)).toThrow(/train\/main\.ts/);
  });
});
