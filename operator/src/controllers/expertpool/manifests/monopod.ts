import { createHash } from 'node:crypto';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { monopodName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { engineService, monopodDeployment, monopodLabel, type MonopodEngine } from '../../../serving/index.ts';
import { amountsOf, defaultResources, expertIdentity, plainEnvironment, recording, replayDir, replayHashAnnotation } from './experts.ts';
import { owned, poolLabels, type Manifest } from './manifest.ts';

/** An expert whose engine is in the pod that has all of a pool. */
export interface MonopodExpert {
  readonly expert: Expert;
  readonly slot: string;
  /** Of the content of its recording; undefined for an engine without one. */
  readonly replayHash: string | undefined;
}

function labelsOf(pool: ExpertPool): Record<string, string> {
  return { ...poolLabels(pool, 'expert'), [monopodLabel]: 'true' };
}

function engineOf({ expert, slot }: MonopodExpert): MonopodEngine {
  const folder = `${replayDir}/${expert.name}`;
  const common = { name: expert.name, slot, resources: amountsOf(expert), fallback: defaultResources(expert) };
  return { ...common, environment: plainEnvironment(expert, folder), ...recording(expert, folder) };
}

/** The pod with the engines of these experts, those first that are to start first. Pure. */
export function monopodManifest(pool: ExpertPool, image: string, experts: readonly MonopodExpert[], replicas: number): Manifest {
  const [first] = experts;
  const slot = first?.slot ?? '';
  const tapes = experts.flatMap(({ expert, replayHash }) => (replayHash === undefined ? [] : [`${expert.name}=${replayHash}`])).sort();
  const hash = createHash('sha256').update(tapes.join(' ')).digest('hex').slice(0, 16);
  const spec = monopodDeployment({
    labels: labelsOf(pool),
    ...(tapes.length === 0 ? {} : { annotations: { [replayHashAnnotation]: hash } }),
    image,
    replicas,
    node: slot.slice(0, slot.lastIndexOf('/')),
    engines: experts.map(engineOf),
  });
  return owned(pool, resources.deployments, { name: monopodName(pool.metadata.name), component: 'expert' }, { spec });
}

/** The address of an expert in that pod: the same as that of one with pods of its own. Pure. */
export function monopodService(pool: ExpertPool, expert: Expert): Manifest {
  return owned(pool, resources.services, expertIdentity({ pool, expert }), { spec: engineService(labelsOf(pool), expert.name) });
}
