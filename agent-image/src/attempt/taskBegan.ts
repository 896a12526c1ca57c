import { isArtifactCheck, isCommandCheck } from '@agentfleet/protocol/api';
import type { TraceConsent } from '@agentfleet/protocol/trace';
import type { AttemptContext } from './ports.ts';

/**
 * `TaskBegan`, the first note of a log: what a trace says of its task. The consent is in the hash chain before any work, so that
 * no later word changes it; the first such note of a log counts.
 */
export interface TaskBeganNote {
  readonly attempt: number;
  readonly consent: TraceConsent;
  readonly task: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly pool: { readonly namespace: string; readonly name: string };
  readonly goal: string;
  readonly checks: readonly {
    readonly name: string;
    readonly type: string;
    readonly command?: readonly string[];
    readonly path?: string;
  }[];
  readonly models: readonly { readonly name: string; readonly role: string; readonly engine: string; readonly model?: string }[];
}

/** The note of a task that begins. Pure. */
export function taskBegan({ task, pool, assignment }: Pick<AttemptContext, 'task' | 'pool' | 'assignment'>): TaskBeganNote {
  const { namespace = '', name, uid = '' } = task.metadata;
  const { goal, checks, trace } = task.spec;
  return {
    attempt: assignment.attempt,
    consent: trace?.consent ?? pool.traceConsent ?? 'None',
    task: { namespace, name, uid },
    pool: { namespace: pool.pool.namespace, name: pool.pool.name },
    goal,
    checks: checks.map((check) => ({
      name: check.name,
      type: check.type,
      ...(isCommandCheck(check) && { command: check.command }),
      ...(isArtifactCheck(check) && { path: check.path }),
    })),
    models: pool.experts.map(({ name: expert, role, engine, chat }) => ({
      name: expert,
      role,
      engine,
      ...(chat?.model !== undefined && { model: chat.model }),
    })),
  };
}
