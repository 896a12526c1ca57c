import { format } from 'prettier';
import { energyFormat, type EnergyFile } from '../../inference-image/src/models/energy/file.ts';
import { loadEnergyModel } from '../../inference-image/src/models/energy/index.ts';
import type { DataSet } from '../data/generate.ts';
import { fitEnergy } from './fit.ts';
import { groupsOf } from './items.ts';
import { calibrate, defaultWeights, measureEnergy, type EnergyFigures } from './measure.ts';
import { editorPrior, shellPrior } from './prior.ts';

/** Weights of the energy model as their file, and what they were measured to do. */
export interface TrainedEnergy {
  readonly bytes: Buffer;
  readonly figures: EnergyFigures;
}

/** Trains the Code head; Shell and Editor have no labelled data and keep a prior. */
export async function trainEnergy({ subjects, manifest }: DataSet, seed: number): Promise<TrainedEnergy> {
  const { heads } = defaultWeights;
  const fitted = fitEnergy(groupsOf(subjects, 'train'), { seed, epochs: 14, rate: 0.003, decay: 0.01, head: heads.Code, rightWeight: 8 });
  const calibration = calibrate(fitted, groupsOf(subjects, 'calibration'));
  const about = 'trained on candidates of Synth for small Python programs that were run on visible and hidden tests';
  const base = { format: energyFormat, featureSet: 'features/v1' } as const;
  const all = { Code: { ...fitted, calibration, about }, Shell: shellPrior(heads.Shell), Editor: editorPrior(heads.Editor) };
  const unmeasured: EnergyFile = { ...base, about: {}, heads: all };
  const figures = measureEnergy(loadEnergyModel(Buffer.from(JSON.stringify(unmeasured))), groupsOf(subjects, 'heldOut'));
  const reported = {
    artifact: 'features-v1',
    script: 'train/main.ts',
    seed,
    data: String(manifest['digest']),
    trainedHeads: 'Code',
    priorHeads: 'Shell, Editor: a judgement, not trained, no probability',
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [`heldOut.${name}`, Number(value.toFixed(4))])),
  };
  const text = await format(JSON.stringify({ ...unmeasured, about: reported }), { parser: 'json', printWidth: 140 });
  return { bytes: Buffer.from(text), figures };
}
