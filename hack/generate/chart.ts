import {
  agentTask,
  agentTaskOrder,
  customResourceDefinition,
  energyModel,
  expertPool,
  expertScale,
  group,
  policies,
  policyManifests,
  poolGrant,
  rolloutPolicy,
} from '@agentfleet/protocol/api';
import { banner, yaml } from './crds.ts';

const definitions = 'charts/agentfleet/charts/agentfleet-crds/files';
const folder = 'charts/agentfleet/files';

/** Kinds with a controller; a definition without one would accept objects that nothing handles. */
const installed = [agentTask, agentTaskOrder, expertPool, energyModel, rolloutPolicy, poolGrant, expertScale];

/** Returns the files that the charts install unchanged: definitions and admission policies, by path from the repository's root. */
export function chartFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...installed.map(
      (kind) => [`${definitions}/${group}_${kind.plural}.yaml`, banner + yaml(kept(customResourceDefinition(kind)))] as const,
    ),
    ...policies.map(
      (policy) => [`${folder}/policies/${policy.name}.yaml`, banner + policyManifests(policy).map(yaml).join('---\n')] as const,
    ),
  ]);
}

/** Uninstalling the chart keeps the definition, unless configured otherwise: all objects of the kind would be deleted with it. */
function kept(definition: ReturnType<typeof customResourceDefinition>): unknown {
  const metadata = definition['metadata'] as Readonly<Record<string, unknown>>;
  return { ...definition, metadata: { ...metadata, annotations: { 'helm.sh/resource-policy': 'keep' } } };
}
