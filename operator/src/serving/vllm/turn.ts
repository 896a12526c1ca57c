import type { V1Container, V1DeploymentSpec, V1EnvVar, V1PodSpec } from '@kubernetes/client-node';
import { containerSecurity } from '../pod.ts';
import { vllmPort } from './command.ts';

/** An engine that takes turns on its GPU. */
export interface Turn {
  /** Origin of what says whose turn it is. */
  readonly turnstile: string;
  /** Its item in the ledger. */
  readonly item: string;
  /** Of our server. */
  readonly image: string;
}

/** Name of the container that waits for the engine's first turn. */
export const turnContainer = 'turn';

const fieldOf = (name: string, fieldPath: string): V1EnvVar => ({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } });

/** What those of a pod that ask for turns are told. Pure. */
export function turnEnvironment({ turnstile, item }: Turn): readonly V1EnvVar[] {
  return [
    { name: 'AGENTFLEET_TURNSTILE', value: turnstile },
    { name: 'AGENTFLEET_TURN_ITEM', value: item },
    fieldOf('AGENTFLEET_POD_NAME', 'metadata.name'),
    fieldOf('AGENTFLEET_POD_IP', 'status.podIP'),
  ];
}

/** Waits until the engine may load: it ends when the GPU is the engine's. */
function turnOf(turn: Turn): V1Container {
  return {
    name: turnContainer,
    image: turn.image,
    imagePullPolicy: 'IfNotPresent',
    args: ['await-turn'],
    env: [...turnEnvironment(turn), { name: 'AGENTFLEET_UPSTREAM', value: `http://127.0.0.1:${vllmPort}` }],
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: containerSecurity,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

type Plain<T> = Pick<T, keyof T>;

/** The Deployment of a server whose engine takes turns: the engine loads in its first one, and the server asks for each. Pure. */
export function withTurns(spec: Plain<V1DeploymentSpec>, engine: string, turn: Turn): V1DeploymentSpec {
  const template: Plain<V1DeploymentSpec['template']> = spec.template;
  const pod: Plain<V1PodSpec> | undefined = template.spec;
  if (pod === undefined) throw new RangeError('a server without a pod');
  const { initContainers = [], containers } = pod;
  return {
    ...spec,
    template: {
      ...template,
      spec: {
        ...pod,
        // Weights are looked at before: who waits for a disk keeps nobody off the GPU.
        initContainers: initContainers.flatMap((one) => (one.name === engine ? [turnOf(turn), one] : [one])),
        containers: containers.map((one) => ({ ...(one as object), env: [...(one.env ?? []), ...turnEnvironment(turn)] }) as V1Container),
      },
    },
  };
}
