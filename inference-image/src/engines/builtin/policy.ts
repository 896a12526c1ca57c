import { join } from 'node:path';
import type { BuiltinConfig } from '../../base/config.ts';
import { loadPolicy } from '../policy/index.ts';
import { alone, type ServedEngine } from '../../base/served.ts';
import { builtin } from './parts.ts';
import { checkDigest, readWeights, sha256, weightsFolder } from './weights.ts';

/** Verdicts on acts: rules for certain cases, a small softmax for the rest. */
export async function createPolicy(config: BuiltinConfig): Promise<ServedEngine> {
  const bytes = await readWeights(join(weightsFolder(config), `${config.artifact}.json`));
  const digest = sha256(bytes);
  checkDigest(config, digest);
  const policy = loadPolicy(bytes);
  return builtin(config, {
    folder: 'policy',
    digest,
    settings: '',
    learned: true,
    about: policy.about,
    abilities: { Judge: alone(({ acts }) => ({ verdicts: acts.map((act) => ({ id: act.id, ...policy.judge(act) })) })) },
  });
}
