import type { V1Container, V1DeploymentSpec, V1EnvVar, V1PodSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import {
  accessEnvironment,
  expertsAudience,
  keysDir,
  keysFile,
  serviceAccountSubject,
  tokenDir,
  tokenFile,
  tokenFileVariable,
} from '@agentfleet/protocol/tokens';
import { basename } from 'node:path';
import { resultsAccount } from '@agentfleet/protocol/results';
import type { OperatorContext } from '../runtime/context.ts';
import type { Plain } from '../runtime/settings.ts';

/** ServiceAccount of the operator, which the chart gives it. */
export const operatorAccount = 'agentfleet-operator';

/** Data by which all servers check tokens. */
export interface ClusterAccess {
  readonly issuer: string;
  /** The cluster's signing keys as JSON. */
  readonly jwks: string;
  /** Subject of the operator. */
  readonly operator: string;
  /** Subjects that may read metrics. */
  readonly metricsReaders: readonly string[];
  /** Subject of the results server, which asks workers; undefined: there is none. */
  readonly results?: string | undefined;
}

/** Data by which the servers of one pod template check tokens. */
export interface ServerAccess extends Pick<ClusterAccess, 'issuer' | 'metricsReaders'> {
  readonly namespace: string;
  /** ConfigMap with the signing keys, in that namespace. */
  readonly keys: string;
  /** Subjects that may ask them to work; undefined: none may. */
  readonly callers?: readonly string[];
  /** Audience of their tokens; default: that of experts and verifiers of the namespace. */
  readonly audience?: string;
}

/** Subject of the ServiceAccount that the chart gives to the operator. */
export function operatorSubject(namespace: string): string {
  return serviceAccountSubject(namespace, operatorAccount);
}

/** Returns the data by which all servers check tokens, as it is known now. */
export function clusterAccess({ config, tokens }: Pick<OperatorContext, 'config' | 'tokens'>): ClusterAccess {
  const { namespace, metricsReaders = [], results = false } = config;
  return {
    issuer: tokens.issuer(),
    jwks: tokens.jwks(),
    operator: operatorSubject(namespace),
    metricsReaders,
    ...(results && { results: serviceAccountSubject(namespace, resultsAccount) }),
  };
}

/** Content of the ConfigMap with the signing keys. */
export function keysData(jwks: string): Readonly<Record<string, string>> {
  return { [basename(keysFile)]: jwks };
}

function accessVariables({
  issuer,
  namespace,
  callers,
  audience = expertsAudience(namespace),
  metricsReaders,
}: ServerAccess): readonly V1EnvVar[] {
  const values: Readonly<Record<string, string | undefined>> = {
    [accessEnvironment.issuer]: issuer,
    [accessEnvironment.audience]: callers === undefined ? undefined : audience,
    [accessEnvironment.callers]: callers?.join(','),
    [accessEnvironment.metricsReaders]: metricsReaders.length === 0 ? undefined : metricsReaders.join(','),
  };
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

/** Seconds that the kubelet asks a token for; it renews it at 80 % of them. */
const tokenSeconds = 3600;

/** The volume with the token for experts and verifiers of a namespace, and what a container needs to use it. */
export function callerToken(namespace: string): Mounted {
  const audience = expertsAudience(namespace);
  const source = { serviceAccountToken: { audience, expirationSeconds: tokenSeconds, path: basename(tokenFile) } };
  return {
    volume: { name: 'experts-token', projected: { defaultMode: 0o440, sources: [source] } },
    mount: { name: 'experts-token', mountPath: tokenDir, readOnly: true },
    env: [{ name: tokenFileVariable, value: tokenFile }],
  };
}

function signingKeys(access: ServerAccess): Mounted {
  return {
    volume: { name: 'jwks', configMap: { name: access.keys } },
    mount: { name: 'jwks', mountPath: keysDir, readOnly: true },
    env: accessVariables(access),
  };
}

/** A volume, its mount, and the environment that names it. */
export interface Mounted {
  readonly volume: V1Volume;
  readonly mount: V1VolumeMount;
  readonly env: readonly V1EnvVar[];
}

/** A Deployment whose containers of these names have what is mounted. Pure. */
export function withMounted(spec: Plain<V1DeploymentSpec>, names: readonly string[], { volume, mount, env }: Mounted): V1DeploymentSpec {
  const template: Plain<V1DeploymentSpec['template']> = spec.template;
  const pod: Plain<V1PodSpec> | undefined = template.spec;
  if (pod === undefined) throw new RangeError('a server without a pod');
  const extend = (one: V1Container): V1Container => {
    if (!names.includes(one.name)) return one;
    const plain: Plain<V1Container> = one;
    return { ...plain, env: [...(plain.env ?? []), ...env], volumeMounts: [...(plain.volumeMounts ?? []), mount] };
  };
  const { initContainers, containers, volumes = [] } = pod;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(extend) };
  return {
    ...spec,
    template: { ...template, spec: { ...pod, ...inits, containers: containers.map(extend), volumes: [...volumes, volume] } },
  };
}

/** A Deployment whose container of this name lets in by tokens. Pure. */
export function withAccess(spec: Plain<V1DeploymentSpec>, container: string, access: ServerAccess): V1DeploymentSpec {
  return withMounted(spec, [container], signingKeys(access));
}
