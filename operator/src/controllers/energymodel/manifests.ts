import type { V1ResourceRequirements } from '@kubernetes/client-node';
import { defaultLambda, type EnergyModel } from '@agentfleet/protocol/api';
import { energyHeads } from '@agentfleet/protocol/inference';
import { labels } from '@agentfleet/protocol/pool';
import { serviceAccountSubject } from '@agentfleet/protocol/tokens';
import { modelKeysName, verifierName } from '../../pools/names.ts';
import { heardByGolden } from '../../revisions/index.ts';
import { resources } from '../../runtime/resources.ts';
import {
  heardByPrometheus,
  keysData,
  serverDeployment,
  serverService,
  serverWall,
  withAccess,
  type ClusterAccess,
} from '../../serving/index.ts';
import { ownedBy, type Manifest } from '../../operands/manifest.ts';

const scheme = 'builtin://';

/** Names behind `builtin://` that the inference image has. */
export const knownArtifacts: readonly string[] = ['features-v3', 'features-v2', 'features-v1'];

/** The name in the uri of an artifact; the schema demands the scheme. Pure. */
function artifactName(uri: string): string {
  return uri.startsWith(scheme) ? uri.slice(scheme.length) : uri;
}

/** Returns the reason why an artifact cannot be served, and the cure; undefined when it can. Pure. */
export function artifactFault(uri: string): string | undefined {
  if (knownArtifacts.includes(artifactName(uri))) return undefined;
  const known = knownArtifacts.map((name) => scheme + name).join(', ');
  return `there is no artifact ${uri}; set spec.artifact.uri to one of ${known}`;
}

const defaultResources: V1ResourceRequirements = { requests: { cpu: '25m', memory: '128Mi' }, limits: { memory: '512Mi' } };

/** Labels of all that a model consists of; those of its pods are what selectors look for. */
export function modelLabels(model: EnergyModel, revision?: string): Record<string, string> {
  const own = { [labels.component]: 'verifier', [labels.model]: model.metadata.name };
  return revision === undefined ? own : { ...own, [labels.revision]: revision };
}

function identity(model: EnergyModel, revision?: string): { readonly name: string; readonly labels: Readonly<Record<string, string>> } {
  return { name: verifierName(model.metadata.name, revision), labels: modelLabels(model, revision) };
}

/** Weights of all heads as the server reads them; another order in the spec is no other template. */
function headsOf({ spec }: EnergyModel): string {
  const lambdas = new Map((spec.heads ?? []).map(({ name, lambda }) => [name, lambda]));
  return energyHeads.map((head) => `${head}=${lambdas.get(head) ?? defaultLambda[head]}`).join(',');
}

/** The signing keys that they check tokens by. Pure. */
export function modelKeys(model: EnergyModel, { jwks }: ClusterAccess): Manifest {
  const of = { name: modelKeysName(model.metadata.name), labels: modelLabels(model) };
  return ownedBy(model, resources.configMaps, of, { data: keysData(jwks) });
}

/**
 * Returns the access settings of the pods. They take the tokens of all pools of the namespace and of golden sets, which come
 * and go without a restart of the pods; their NetworkPolicy decides which of them reach them.
 */
function serverAccess({ metadata }: EnergyModel, access: ClusterAccess) {
  const { name, namespace = '' } = metadata;
  return { ...access, namespace, keys: modelKeysName(name), callers: [serviceAccountSubject(namespace, '*'), access.operator] };
}

/** The pods that score; `revision` distinguishes those that stand side by side. Pure. */
export function verifierDeployment(model: EnergyModel, image: string, access: ClusterAccess, revision?: string): Manifest {
  const { artifact, lambda, resources: wanted } = model.spec;
  const spec = serverDeployment({
    labels: modelLabels(model, revision),
    image,
    replicas: wanted.replicas,
    environment: {
      AGENTFLEET_ENGINE: 'Builtin',
      AGENTFLEET_ROLES: 'Verifier',
      AGENTFLEET_ARTIFACT: artifactName(artifact.uri),
      ...(artifact.digest === undefined ? {} : { AGENTFLEET_ARTIFACT_DIGEST: artifact.digest }),
      AGENTFLEET_LAMBDA: lambda,
      AGENTFLEET_HEADS: headsOf(model),
    },
    resources: wanted.container,
    fallback: defaultResources,
  });
  return ownedBy(model, resources.deployments, identity(model, revision), {
    spec: withAccess(spec, 'inference', serverAccess(model, access)),
  });
}

/** The address of a revision; that without one, which tasks have that know none, is that of the pods of `serving`. Pure. */
export function verifierService(model: EnergyModel, revision?: string, serving = revision): Manifest {
  return ownedBy(model, resources.services, identity(model, revision), { spec: serverService(modelLabels(model, serving)) });
}

/** Those of all revisions hear the workers and the golden sets of the namespace, and the operator. Pure. */
export function verifierWall(model: EnergyModel, operatorNamespace: string, prometheus?: string): Manifest {
  const workers = serverWall(modelLabels(model), { [labels.component]: 'worker' }, operatorNamespace);
  const spec = heardByPrometheus(heardByGolden(workers), prometheus);
  return ownedBy(model, resources.networkPolicies, identity(model), { spec });
}
