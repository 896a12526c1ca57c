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
  const crds = installed.map((kind) => [`${group}_${kind.plural}.yaml`, banner + yaml(kept(customResourceDefinition(kind)))] as const);
  const rules = policies.map((policy) => [`${policy.name}.yaml`, banner + policyManifests(policy).map(yaml).join('---\n')] as const);
  return new Map([...withKustomization(definitions, crds), ...withKustomization(`${folder}/policies`, rules)]);
}

/** The files of a folder, and the one by which charts/kustomize finds them. Its name has no ending, as Helm reads what ends in .yaml. */
function withKustomization(at: string, files: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const resources = files.map(([name]) => name).sort();
  const object = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources };
  return [...files, ['Kustomization', banner + yaml(object)] as const].map(([name, content]) => [`${at}/${name}`, content] as const);
}

/** Uninstalling the chart keeps the definition, unless configured otherwise: all objects of the kind would be deleted with it. */
function kept(definition: ReturnType<typeof customResourceDefinition>): unknown {
  const metadata = definition['metadata'] as Readonly<Record<string, unknown>>;
  return { ...definition, metadata: { ...metadata, annotations: { 'helm.sh/resource-policy': 'keep' } } };
}
