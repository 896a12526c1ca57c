import type { ConditionValue } from '../../runtime/resources.ts';
import { conditionsFor } from '@agentfleet/kube';
import type { Expert, ExpertPool, ExpertScale, ExpertScaleStatus, Reason } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { wholeConditions } from '../../operands/conditions.ts';
import { needsGpu } from '../../operands/index.ts';
import { hasNoPods } from '../expertpool/index.ts';

/** All that the decision about an ExpertScale looks at. */
export interface ScaleSnapshot {
  readonly scale: ExpertScale;
  /** With as many pods as it runs now; undefined: it is not there. */
  readonly pool: ExpertPool | undefined;
  /** The one that counts for the expert. */
  readonly first: ExpertScale;
  /** Pods of the expert whose memory the plan of the pool has. */
  readonly held: () => number;
  /** Returns the reason why GPUs have no room for so many pods of the expert, beside all that is there; undefined: they have. */
  readonly lack: (replicas: number) => string | undefined;
}

interface Grant {
  readonly granted: number;
  /** Reason why it is less than what was asked for. */
  readonly lack?: string;
}

/**
 * As many as fit, and never less than have memory now because of it. Room for more is room for less: halves are tried. One that is asked
 * for goes on to be: an expert without pods is looked for no place.
 */
function grantOf({ scale, held: holds, lack }: ScaleSnapshot, expert: Expert): Grant {
  const { replicas: asked } = scale.spec;
  if (!needsGpu({ ...expert, replicas: asked })) return { granted: asked };
  const held = holds();
  const least = Math.min(expert.replicas, 1);
  if (asked <= Math.max(held, least)) return { granted: asked };
  const why = lack(asked);
  if (why === undefined) return { granted: asked };
  let [fits, tooMany] = [held, asked];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (lack(middle) === undefined) fits = middle;
    else tooMany = middle;
  }
  return { granted: Math.max(fits, least), lack: `GPUs have room for ${fits} of ${asked} pods: ${why}` };
}

function stateOf({ scale, pool }: ScaleSnapshot): {
  readonly replicas: number;
  readonly ready: number;
  readonly message?: string | undefined;
} {
  const { replicas = 0, ready = 0, message } = pool?.status?.experts?.find(({ name }) => name === scale.spec.expert) ?? {};
  return { replicas, ready, message };
}

function wordOf(snapshot: ScaleSnapshot, { lack }: Grant): ConditionValue {
  const { replicas: asked } = snapshot.scale.spec;
  const { ready, replicas, message } = stateOf(snapshot);
  if (lack !== undefined) return { status: 'False', reason: 'NoRoomOnGPU', message: lack, stalled: true };
  if (asked === 0 && replicas === 0) return { status: 'True', reason: 'ScaledToZero', message: 'spec.replicas is 0' };
  if (ready === asked && replicas === asked) return { status: 'True', reason: 'Ready', message: `${ready} pods answer` };
  const more = message === undefined ? '' : `; ${message}`;
  return { status: 'False', reason: 'Progressing', message: `${ready} of ${asked} pods answer, ${replicas} exist${more}` };
}

/** Decides what is granted, and reports how that went; without a grant the expert cannot be scaled. */
function judge(snapshot: ScaleSnapshot): { readonly word: ConditionValue; readonly grant?: Grant } {
  const { scale, pool, first } = snapshot;
  const { poolRef, expert: name } = scale.spec;
  const no = (reason: Reason, message: string) => ({ word: { status: 'False', reason, message, stalled: true } as const });
  if (pool === undefined)
    return no('PoolNotFound', `there is no ExpertPool ${poolRef.name} in the namespace; create it, or make this object again`);
  const expert = pool.spec.experts.find((one) => one.name === name);
  if (expert === undefined) {
    const names = pool.spec.experts.map((one) => one.name).join(', ');
    return no('ExpertNotFound', `ExpertPool ${poolRef.name} has no expert ${name}, it has ${names}; add it, or make this object again`);
  }
  if (first.metadata.uid !== scale.metadata.uid)
    return no('AlreadyScaled', `ExpertScale ${first.metadata.name} scales expert ${name} already; delete one of the two`);
  if (hasNoPods(expert)) {
    const where = expert.engine.type === 'Harness' ? 'runs in the sandboxes of tasks' : 'is asked by way of the gateway';
    return no('ExpertWithoutPods', `expert ${name} ${where} and has no pods; scale the workers of the pool, or set spec.gateway.replicas`);
  }
  const grant = grantOf(snapshot, expert);
  return { word: wordOf(snapshot, grant), grant };
}

/** The status of an ExpertScale. Pure. `now` is wall time in ms. */
export function decideScale(snapshot: ScaleSnapshot, now: number): ExpertScaleStatus {
  const { scale } = snapshot;
  const { word, grant } = judge(snapshot);
  const { replicas, ready } = grant === undefined ? { replicas: 0, ready: 0 } : stateOf(snapshot);
  const of = { [labels.component]: 'expert', [labels.pool]: scale.spec.poolRef.name, [labels.expert]: scale.spec.expert };
  const selector = Object.entries(of).map(([name, value]) => `${name}=${value}`);
  return {
    observedGeneration: scale.metadata.generation ?? 0,
    conditions: conditionsFor(scale, wholeConditions(word), now),
    ...(grant === undefined ? {} : { granted: grant.granted }),
    replicas,
    ready,
    selector: selector.join(','),
  };
}
