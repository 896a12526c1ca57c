import type { V1ResourceRequirements } from '@kubernetes/client-node';
import { defaultLambda, type EnergyModel } from '@agentfleet/protocol/api';
import { energyHeads } from '@agentfleet/protocol/inference';
import { labels } from '@agentfleet/protocol/pool';
import { verifierName } from '../../pools/names.ts';
import { resources } from '../../runtime/resources.ts';
import { serverDeployment, serverService, serverWall } from '../../serving/index.ts';
import { ownedBy, type Manifest } from '../expertpool/manifests/manifest.ts';
import { artifactName } from './artifacts.ts';

const defaultResources: V1ResourceRequirements = { requests: { cpu: '25m', memory: '128Mi' }, limits: { memory: '512Mi' } };

/** Labels of all that a model consists of. */
export function modelLabels(model: EnergyModel): Record<string, string> {
  return { [labels.component]: 'verifier', [labels.model]: model.metadata.name };
}

function identity(model: EnergyModel): { readonly name: string; readonly labels: Readonly<Record<string, string>> } {
  return { name: verifierName(model.metadata.name), labels: modelLabels(model) };
}

/** Weights of all heads as the server reads them; another order in the spec is no other template. */
function headsOf({ spec }: EnergyModel): string {
  const lambdas = new Map((spec.heads ?? []).map(({ name, lambda }) => [name, lambda]));
  return energyHeads.map((head) => `${head}=${lambdas.get(head) ?? defaultLambda[head]}`).join(',');
}

/** The pods that score. Pure. */
export function verifierDeployment(model: EnergyModel, image: string): Manifest {
  const { artifact, lambda, resources: wanted } = model.spec;
  const spec = serverDeployment({
    labels: modelLabels(model),
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
  return ownedBy(model, resources.deployments, identity(model), { spec });
}

/** Their address. Pure. */
export function verifierService(model: EnergyModel): Manifest {
  return ownedBy(model, resources.services, identity(model), { spec: serverService(modelLabels(model)) });
}

/** They hear the workers of all pools of the namespace, and the operator. Pure. */
export function verifierWall(model: EnergyModel, operatorNamespace: string): Manifest {
  const spec = serverWall(modelLabels(model), { [labels.component]: 'worker' }, operatorNamespace);
  return ownedBy(model, resources.networkPolicies, identity(model), { spec });
}
