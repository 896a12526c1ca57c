import { apiVersion, type AgentTaskSpec } from '@agentfleet/protocol/api';
import { ablationAnnotations } from '@agentfleet/protocol/pool';
import type { PackTask } from './types.ts';

/** Destination of a task. */
export interface Target {
  readonly namespace: string;
  readonly pool: { readonly name: string; readonly namespace: string };
  /** Set apart objects of several runs over the same tasks; default: none. */
  readonly suffix?: string;
  readonly budget?: AgentTaskSpec['budget'];
  /** Profile of the pool; default: the one with this name. */
  readonly profile?: string;
  /** Parts that the worker leaves out, where the pool allows it. */
  readonly ablations?: readonly string[];
  readonly snapshots?: 'Steps' | 'InitialOnly';
}

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

/** Time limit of a set-up script or an oracle. */
export const scriptSeconds = 120;

/** Manifest for the API server, which fills in defaults. */
export interface AgentTaskManifest {
  readonly apiVersion: string;
  readonly kind: 'AgentTask';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Pick<AgentTaskSpec, 'goal'> & {
    readonly poolRef: { readonly name: string; readonly namespace: string };
    readonly profile?: string;
    readonly workspace: {
      readonly type: 'Inline';
      readonly inline: { readonly files: readonly { readonly path: string; readonly content: string }[] };
    };
    readonly setup?: readonly Step[];
    readonly checks: readonly (Step & { readonly expect: 'Auto' | 'Pass' })[];
    readonly protect: { readonly paths: readonly string[] };
    readonly budget?: AgentTaskSpec['budget'];
    readonly snapshots?: { readonly policy: 'InitialOnly' };
  };
}

function annotationsOf({ id, seed }: PackTask, ablations: readonly string[]): Readonly<Record<string, string>> {
  const asked = ablations.length === 0 ? {} : { [ablationAnnotations.asked]: ablations.join(',') };
  return { 'agentfleet.dev/pack-task': id, 'agentfleet.dev/pack-seed': String(seed), ...asked };
}

/**
 * Returns the task as an object of a cluster: the same workspace and set-up, and the visible check. The hidden one is
 * left out, for the judge of the patch.
 *
 * @example toAgentTask(task, { namespace: 'demo', pool: { name: 'coding', namespace: 'agentfleet-pools' } });
 */
export function toAgentTask(
  task: PackTask,
  { namespace, pool, suffix, budget, profile, ablations = [], snapshots }: Target,
): AgentTaskManifest {
  const name = [task.id.replaceAll(/[/_]+/g, '-'), ...(suffix === undefined ? [] : [suffix])].join('-');
  const files = Object.entries(task.files).map(([path, content]) => ({ path, content }));
  const { command, timeoutSeconds, start } = task.visible;
  const setup = task.setup.map((script, at) => ({
    name: `setup-${at + 1}`,
    command: ['sh', '-euc', script],
    timeoutSeconds: scriptSeconds,
  }));
  return {
    apiVersion,
    kind: 'AgentTask',
    metadata: { name, namespace, annotations: annotationsOf(task, ablations) },
    spec: {
      poolRef: pool,
      ...(profile === undefined ? {} : { profile }),
      goal: task.goal,
      workspace: { type: 'Inline', inline: { files } },
      ...(setup.length === 0 ? {} : { setup }),
      checks: [{ name: 'visible', command, timeoutSeconds, expect: start === 'passes' ? 'Pass' : 'Auto' }],
      protect: { paths: Object.keys(task.visible.files) },
      ...(budget === undefined ? {} : { budget }),
      ...(snapshots === 'InitialOnly' ? { snapshots: { policy: snapshots } } : {}),
    },
  };
}
