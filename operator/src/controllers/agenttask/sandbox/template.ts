import { createHash } from 'node:crypto';
import { controllerReference, type KubeObject } from '@agentfleet/kube';
import type { AgentTask, ExpertPool, Sandbox, SandboxTemplate } from '@agentfleet/protocol/api';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';
import { bytesOf } from '../../../placement/index.ts';
import { workerServiceAccount, childName } from '../../../pools/names.ts';
import { shortHash } from '../../../revisions/arm.ts';
import type { OperatorConfig } from '../../../runtime/context.ts';
import {
  isolationFloor,
  mergedTemplate,
  hasOwnUsers,
  imageVolumes,
  nodesWithUsers,
  userMode,
  type ClusterCapabilities,
} from './capabilities.ts';
import { type SandboxPodInput, sandboxPod } from './pod.ts';
import { labels } from '@agentfleet/protocol/pool';
import { templateAnnotation } from '../../../pools/resolve.ts';
import type { Pod } from '../../../runtime/resources.ts';
import { poolNamespaceLabel } from '../../../runtime/caches.ts';

const longest = 63;

/** Name of the sandbox that an epoch begins with; 63 characters at most, so that it fits a label. Pure. */
export function sandboxName(task: string, epoch: number): string {
  const whole = `${task}-${epoch}`;
  if (whole.length <= longest) return whole;
  const digest = createHash('sha256').update(task).digest('hex').slice(0, 8);
  const tail = `-${digest}-${epoch}`;
  return `${task.slice(0, longest - tail.length).replace(/[-.]+$/, '')}${tail}`;
}

/** @throws RangeError for what is no amount of bytes: the schema lets none through */
function bytes(quantity: string): number {
  const found = bytesOf(quantity);
  if (found === undefined) throw new RangeError(`${quantity} is no amount of bytes; write one such as 2Gi`);
  return found;
}

/** Source of the sandboxes of a pool. */
export interface TemplateSource {
  readonly pool: ExpertPool;
  readonly config: OperatorConfig;
  readonly issuer: string;
  readonly capabilities: ClusterCapabilities;
}

/** Returns the parts that all sandboxes of one template and one floor of isolation have in common. */
function poolTemplate(
  template: SandboxTemplate & Pick<Sandbox, 'storage'>,
  floor: IsolationLevel,
  { pool, config, issuer, capabilities }: TemplateSource,
): Omit<SandboxPodInput, 'name' | 'namespace'> {
  const { image, resources, workspaceSizeLimit, storage, ...rest } = template;
  const { metadata, spec } = pool;
  return {
    ...rest,
    pool: metadata.name,
    sandboxImage: config.images.sandbox,
    toolsImage: image ?? config.images.tools,
    clients: [`system:serviceaccount:${metadata.namespace ?? ''}:${workerServiceAccount(metadata.name)}`],
    issuer,
    ...(config.operands === undefined ? {} : { settings: config.operands }),
    ...(config.resolvers === undefined ? {} : { resolvers: config.resolvers }),
    ...(config.sentinel === undefined ? {} : { sentinel: config.sentinel }),
    allowUnenforcedNetwork: spec.policy.allowUnenforcedNetwork,
    ...(hasOwnUsers(userMode(spec.sandbox), floor, capabilities, rest) ? { hostUsers: false } : {}),
    ...(spec.sandbox.snapshotEngine === 'Overlay' ? { layered: true } : {}),
    ...(resources === undefined ? {} : { toolsResources: resources }),
    ...(workspaceSizeLimit === undefined ? {} : { workspaceBytes: bytes(workspaceSizeLimit) }),
    ...(storage === undefined ? {} : shares(bytes(storage.size), workspaceSizeLimit)),
  };
}

/** The keeper's bounds on a volume: a third for the tree unless the task sets it, the rest for what the keeper stores. */
function shares(size: number, limit: string | undefined): Pick<SandboxPodInput, 'workspaceBytes' | 'storeBytes'> {
  const workspaceBytes = limit === undefined ? Math.floor(size / 3) : bytes(limit);
  return { workspaceBytes, storeBytes: size - workspaceBytes };
}

/** Returns the parts that depend on the nodes of one moment: sandboxes are compared without them, so that a node replaces none. */
function nodesFor(
  template: SandboxTemplate & Pick<Sandbox, 'storage'>,
  hostUsers: boolean | undefined,
  capabilities: ClusterCapabilities,
): Pick<SandboxPodInput, 'nodes' | 'runnerVolume'> {
  const nodes = hostUsers === false ? nodesWithUsers(capabilities, template) : undefined;
  return { ...(imageVolumes(capabilities, template) ? { runnerVolume: true } : {}), ...(nodes === undefined ? {} : { nodes }) };
}

/** Returns the input of a sandbox pod of a task; `where`: nodes that it has to run on besides those of its template. */
export function sandboxInput(
  name: string,
  { task, pool, ...source }: TemplateSource & { readonly task: AgentTask },
  where: Pick<SandboxTemplate, 'nodeSelector' | 'tolerations'> = {},
): SandboxPodInput {
  const template = placedOn(mergedTemplate(task, pool), where);
  const input = poolTemplate(template, isolationFloor({ task }, pool), { pool, ...source });
  return {
    ...input,
    ...nodesFor(template, input.hostUsers, source.capabilities),
    name,
    namespace: task.metadata.namespace ?? '',
    task: task.metadata.name,
    owner: controllerReference(task),
  };
}

function placedOn<T extends SandboxTemplate>(
  template: T,
  { nodeSelector, tolerations }: Pick<SandboxTemplate, 'nodeSelector' | 'tolerations'>,
): T {
  return {
    ...template,
    ...(nodeSelector === undefined ? {} : { nodeSelector: { ...template.nodeSelector, ...nodeSelector } }),
    ...(tolerations === undefined ? {} : { tolerations: [...(template.tolerations ?? []), ...tolerations] }),
  };
}

type Input = Omit<SandboxPodInput, 'name' | 'namespace'>;

/** A sandbox without a task, and without anything that makes one differ from another. */
function manifest(input: Input, namespace: string): Pod {
  return sandboxPod({ ...input, name: '', namespace }) as unknown as Pod;
}

function inputOf(source: TemplateSource, floor: IsolationLevel): Input {
  return poolTemplate(source.pool.spec.sandbox.template ?? {}, floor, source);
}

/**
 * Hash of what a sandbox is made from under a floor of isolation: a task takes a waiting one only when its own would have
 * been made from the same. On which nodes it may run, and how it gets its runner, does not count: one node that comes would
 * turn all of them over. Pure.
 */
export function templateHash(source: TemplateSource, floor: IsolationLevel): string {
  return shortHash(manifest(inputOf(source, floor), ''), 16);
}

/** A sandbox to be made ahead: it names its pool and no task, and the server gives it its name. Pure. */
export function warmPod(
  source: TemplateSource,
  namespace: string,
): Omit<Pod, 'metadata'> & { readonly metadata: Partial<KubeObject['metadata']> } {
  const { pool } = source;
  const floor = pool.spec.policy.minIsolation;
  const input = inputOf(source, floor);
  const nodes = nodesFor(pool.spec.sandbox.template ?? {}, input.hostUsers, source.capabilities);
  const { metadata, ...rest } = manifest({ ...input, ...nodes }, namespace);
  const { name: _, ...kept } = metadata;
  return {
    ...rest,
    metadata: {
      ...kept,
      generateName: `${childName(pool.metadata.name, 'warm')}-`,
      labels: { ...metadata.labels, [labels.warm]: 'true', [poolNamespaceLabel]: pool.metadata.namespace ?? '' },
      annotations: { ...metadata.annotations, [templateAnnotation]: templateHash(source, floor) },
    },
  };
}

/** Remembers hashes: each look at a task asks for one. */
export class TemplateHashes {
  readonly #known = new WeakMap<ExpertPool, Map<string, string>>();

  of(source: TemplateSource, floor: IsolationLevel): string {
    const known = this.#known.get(source.pool) ?? new Map<string, string>();
    this.#known.set(source.pool, known);
    const { userNamespace, template = {} } = source.pool.spec.sandbox;
    const key = `${floor} ${source.issuer} ${hasOwnUsers(userNamespace, floor, source.capabilities, template)}`;
    let hash = known.get(key);
    if (hash === undefined) known.set(key, (hash = templateHash(source, floor)));
    return hash;
  }
}
