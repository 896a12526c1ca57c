import { join } from 'node:path';
import type { BuiltinConfig } from '../../base/config.ts';
import { loadEnergyModel } from '../../models/energy/index.ts';
import { alone, type ServedEngine } from '../../base/served.ts';
import { builtin, type BuiltinParts } from './parts.ts';
import { checkDigest, readWeights, weightsFolder } from './weights.ts';

/** Energies by the model of `models/energy`, under the weights of the configuration. */
export async function createVerifier(config: BuiltinConfig): Promise<ServedEngine> {
  const file = join(weightsFolder(config), `energy-${config.artifact}.json`);
  const bytes = await readWeights(file);
  const scorer = loadEnergyModel(bytes);
  checkDigest(config, scorer.digest);
  const { weighting } = config;
  const { lambda, heads } = weighting;
  const parts: BuiltinParts = {
    folder: '../models/energy',
    digest: scorer.digest,
    settings: JSON.stringify([lambda, heads.Code, heads.Shell, heads.Editor]),
    learned: true,
    about: { ...scorer.about, lambda, lambdaCode: heads.Code, lambdaShell: heads.Shell, lambdaEditor: heads.Editor },
    calibration: scorer.calibration,
    abilities: {
      Score: alone(({ items }) => ({
        scores: items.map((item) => ({ id: item.id, ...scorer.score(item, weighting) })),
        reads: [...new Set(items.flatMap(({ head }) => scorer.reads(head)))],
        calibration: scorer.calibration?.digest ?? null,
      })),
    },
  };
  return builtin(config, parts);
}
