import { join } from 'node:path';
import type { BuiltinConfig } from '../../base/config.ts';
import { loadPlanner } from '../../models/planner/index.ts';
import { alone, type ServedEngine } from '../../base/served.ts';
import { builtin } from './parts.ts';
import { checkDigest, readWeights, weightsFolder } from './weights.ts';

/** Control vectors by the planner of `models/planner`. */
export async function createPlanner(config: BuiltinConfig): Promise<ServedEngine> {
  const planner = loadPlanner(await readWeights(join(weightsFolder(config), `planner-${config.artifact}.bin`)));
  checkDigest(config, planner.digest);
  return builtin(config, {
    folder: '../models/planner',
    digest: planner.digest,
    settings: '',
    learned: true,
    shadow: planner.shadow,
    about: planner.about,
    abilities: { Control: alone((request) => planner.control(request)) },
  });
}
