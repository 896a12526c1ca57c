/**
 * The engine Builtin: one role per server, each with the project's weights or a small model in the image. Part of
 * `engines`: may import `base`, `gpu`, `models` and protocol.
 */
import type { BuiltinRole } from '@agentfleet/protocol/inference';
import type { BuiltinConfig } from '../../base/config.ts';
import type { ServedEngine } from '../../base/served.ts';
import { createEmbedder } from './embedder.ts';
import { createPlanner } from './planner.ts';
import { createPolicy } from './policy.ts';
import { createVerifier } from './verifier.ts';

export { weightsFolder } from './weights.ts';

const creators: Readonly<Record<BuiltinRole, (config: BuiltinConfig) => Promise<ServedEngine>>> = {
  Planner: createPlanner,
  Verifier: createVerifier,
  Embedder: createEmbedder,
  Policy: createPolicy,
};

/** @throws ConfigError when its artifact is absent or another one than asked for */
export function createBuiltin(config: BuiltinConfig): Promise<ServedEngine> {
  return creators[config.role](config);
}
