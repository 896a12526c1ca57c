import type { V1Container, V1DeploymentSpec, V1Volume } from '@kubernetes/client-node';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertPort } from '@agentfleet/protocol/pool';
import { expertName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { owned, poolLabels, type Manifest } from './manifest.ts';
import { containerSecurity, podSecurity, probes, resourcesOf } from './pod.ts';

/** Folder of a recording in its expert. */
const replayDir = '/etc/agentfleet/replay';

/** Annotation of the pod template: another recording, another template, so that the pods are replaced. */
export const replayHashAnnotation = 'agentfleet.dev/replay-hash';

const defaultResources = { requests: { cpu: '100m', memory: '192Mi' }, limits: { memory: '1Gi' } };

/** `replayHash` names the content of the recording; undefined for an engine without one. */
export interface ExpertInput {
  readonly pool: ExpertPool;
  readonly expert: Expert;
  readonly image: string;
  readonly replayHash: string | undefined;
}

function server({ expert, image }: ExpertInput): V1Container {
  const replay = expert.engine.type === 'Replay';
  return {
    name: 'inference',
    image,
    imagePullPolicy: 'IfNotPresent',
    ports: [{ name: 'http', containerPort: expertPort, protocol: 'TCP' }],
    env: [{ name: 'AGENTFLEET_ENGINE', value: expert.engine.type }, ...(replay ? [{ name: 'AGENTFLEET_REPLAY', value: replayDir }] : [])],
    ...probes('http'),
    resources: resourcesOf(expert.resources, defaultResources),
    securityContext: containerSecurity,
    ...(replay ? { volumeMounts: [{ name: 'replay', mountPath: replayDir, readOnly: true }] } : {}),
  };
}

/** Left out when there are none: the server drops an empty list, which would look like a change by somebody. */
function volumes({ expert }: ExpertInput): { volumes?: V1Volume[] } {
  if (expert.engine.type !== 'Replay') return {};
  return { volumes: [{ name: 'replay', configMap: { name: expert.engine.replay.configMap.name } }] };
}

/** The pods that serve one expert. Pure. */
export function expertDeployment(input: ExpertInput): Manifest {
  const { pool, expert, replayHash } = input;
  const own = poolLabels(pool, 'expert', expert.name);
  const spec: V1DeploymentSpec = {
    replicas: expert.replicas,
    revisionHistoryLimit: 2,
    selector: { matchLabels: own },
    template: {
      metadata: { labels: own, ...(replayHash === undefined ? {} : { annotations: { [replayHashAnnotation]: replayHash } }) },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 20, // the server drains for 10 s
        securityContext: podSecurity,
        containers: [server(input)],
        ...volumes(input),
      },
    },
  };
  return owned(pool, resources.deployments, identity(input), { spec });
}

/** The address of one expert. Pure. */
export function expertService(input: Pick<ExpertInput, 'pool' | 'expert'>): Manifest {
  const { pool, expert } = input;
  return owned(pool, resources.services, identity(input), {
    spec: {
      type: 'ClusterIP',
      selector: poolLabels(pool, 'expert', expert.name),
      ports: [{ name: 'http', port: expertPort, protocol: 'TCP', targetPort: 'http' }],
    },
  });
}

function identity({ pool, expert }: Pick<ExpertInput, 'pool' | 'expert'>) {
  return { name: expertName(pool.metadata.name, expert.name), component: 'expert', expert: expert.name } as const;
}
