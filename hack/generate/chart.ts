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
import { banner, yaml } from './yaml.ts';

const definitions = 'charts/agentfleet/charts/agentfleet-crds/files';
const folder = 'charts/agentfleet/files';

/** The kinds that a controller obeys; a definition without one would take objects that nobody looks at. */
const installed = [agentTask, agentTaskOrder, expertPool, energyModel, rolloutPolicy, poolGrant, expertScale];

/** What the charts install as it is: definitions and admission policies, by path from the repository's root. */
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

/** Uninstalling the chart leaves the definition, unless told otherwise: with it go all objects of the kind. */
function kept(definition: ReturnType<typeof customResourceDefinition>): unknown {
  const metadata = definition['metadata'] as Readonly<Record<string, unknown>>;
  return { ...definition, metadata: { ...metadata, annotations: { 'helm.sh/resource-policy': 'keep' } } };
}
