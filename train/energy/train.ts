import { format } from 'prettier';
import { energyFormat, type EnergyFile, type EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';
import { loadEnergyModel } from '../../inference-image/src/models/energy/scorer.ts';
import type { DataSet } from '../data/generate.ts';
import { fitEnergy } from './fit.ts';
import { groupsOf } from './items.ts';
import { calibrate, defaultWeights, measureEnergy, type EnergyFigures } from './measure.ts';

/** Assumed weights of a head without data: signs and sizes are a judgement, not a measurement. */
const executed: Readonly<Record<string, number>> = {
  compileErrors: 1,
  'compileErrors>0': 1,
  testsFailed: 0.5,
  'testsFailed>0': 1,
  testsFixed: -0.5,
  'testsFixed>0': -1,
  testsBroken: 1,
  'testsBroken>0': 1.5,
  'testsSkipped>0': 1,
  'timedOut>0': 1.5,
  'crashed>0': 3,
  lintDelta: 0.2,
};

/** Commands: what the rails and the policy say weighs most. */
function shellPrior(head: number): EnergyHeadFile {
  const prior = { constant: -2, policyUnsafe: 4, railRank: 1 };
  return { ...untrained(head), prior, about: 'prior model, not trained: no labelled commands; it gives no probability' };
}

/** Edits outside of code: what does not fit the goal, and great deletions. */
function editorPrior(head: number): EnergyHeadFile {
  const prior = { constant: -1, policyUnsafe: 3, railRank: 0.75, specCosine: -1, charsRemoved: 0.2, files: 0.2 };
  return { ...untrained(head), prior, about: 'prior model, not trained: no labelled edits of other files; it gives no probability' };
}

function untrained(head: number): EnergyHeadFile {
  const calibration = { before: null, after: null };
  return { content: null, prior: {}, executed, ran: 0, lambdas: { lambda: 1, head }, calibration, about: 'not trained' };
}

interface TrainedEnergy {
  readonly bytes: Buffer;
  readonly figures: EnergyFigures;
}

/** Trains the Code head; Shell and Editor have no labelled data and keep a prior. */
export async function trainEnergy({ subjects, manifest }: DataSet, seed: number): Promise<TrainedEnergy> {
  const { heads } = defaultWeights;
  const fitted = fitEnergy(groupsOf(subjects, 'train'), { seed, epochs: 14, head: heads.Code });
  const calibration = calibrate(fitted, groupsOf(subjects, 'calibration'));
  const about = 'trained on candidates of Synth for small Python programs that were run on visible and hidden tests';
  const base = { format: energyFormat, featureSet: 'features/v1' } as const;
  const all = { Code: { ...fitted, calibration, about }, Shell: shellPrior(heads.Shell), Editor: editorPrior(heads.Editor) };
  const unmeasured: EnergyFile = { ...base, about: {}, heads: all };
  const figures = measureEnergy(loadEnergyModel(Buffer.from(JSON.stringify(unmeasured))), groupsOf(subjects, 'heldOut'));
  const origin = {
    artifact: 'features-v1',
    script: 'train/main.ts',
    seed,
    data: String(manifest['digest']),
    trainedHeads: 'Code',
    priorHeads: 'Shell, Editor: a judgement, not trained, no probability',
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [`heldOut.${name}`, Number(value.toFixed(4))])),
  };
  const text = await format(JSON.stringify({ ...unmeasured, about: origin }), { parser: 'json', printWidth: 140 });
  return { bytes: Buffer.from(text), figures };
}
