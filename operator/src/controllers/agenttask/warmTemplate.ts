import { createHash } from 'node:crypto';
import { canonical, type KubeObject } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';
import { labels } from '@agentfleet/protocol/pool';
import { childName } from '../../pools/names.ts';
import { poolNamespaceLabel, templateAnnotation } from '../../pools/warm.ts';
import type { Pod } from '../../runtime/objects.ts';
import { sandboxPod, type SandboxPodInput } from './sandboxPod.ts';
import { hasOwnUsers } from './nodeAbility.ts';
import { nodesFor, poolTemplate, type TemplateSource } from './sandboxTemplate.ts';

/** What all sandboxes of a pool are made from. */
export type WarmSource = TemplateSource;

type Input = Omit<SandboxPodInput, 'name' | 'namespace'>;

/** A sandbox without a task, and without anything that makes one differ from another. */
function manifest(input: Input, namespace: string): Pod {
  return sandboxPod({ ...input, name: '', namespace }) as unknown as Pod;
}

function inputOf(source: WarmSource, floor: IsolationLevel): Input {
  return poolTemplate(source.pool.spec.sandbox.template ?? {}, floor, source);
}

/**
 * Hash of what a sandbox is made from under a floor of isolation: a task takes a waiting one only when its own would have
 * been made from the same. On which nodes it may run, and how it gets its runner, does not count: one node that comes would
 * turn all of them over. Pure.
 */
export function templateHash(source: WarmSource, floor: IsolationLevel): string {
  return createHash('sha256')
    .update(canonical(manifest(inputOf(source, floor), '')))
    .digest('hex')
    .slice(0, 16);
}

/** A sandbox to be made ahead: it names its pool and no task, and the server gives it its name. Pure. */
export function warmPod(
  source: WarmSource,
  namespace: string,
): Omit<Pod, 'metadata'> & { readonly metadata: Partial<KubeObject['metadata']> } {
  const { pool } = source;
  const floor = pool.spec.policy.minIsolation;
  const input = inputOf(source, floor);
  const nodes = nodesFor(pool.spec.sandbox.template ?? {}, input.hostUsers, source.ground);
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

  of(source: WarmSource, floor: IsolationLevel): string {
    const known = this.#known.get(source.pool) ?? new Map<string, string>();
    this.#known.set(source.pool, known);
    const { userNamespace, template = {} } = source.pool.spec.sandbox;
    const key = `${floor} ${source.issuer} ${hasOwnUsers(userNamespace, floor, source.ground, template)}`;
    let hash = known.get(key);
    if (hash === undefined) known.set(key, (hash = templateHash(source, floor)));
    return hash;
  }
}
