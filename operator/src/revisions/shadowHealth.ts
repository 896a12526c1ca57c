import type { RolloutStatus } from '@agentfleet/protocol/api';
import type { CopyCounts } from './shadow.ts';

/** What is known of the copies that a revision in shadow gets. */
export interface ShadowView {
  /** Tasks that have not ended and whose requests are copied. */
  readonly tasks: number;
  /** What those tell, and what the book holds of tasks that have ended. */
  readonly live: CopyCounts;
  readonly ended: CopyCounts;
}

/** What is said of it, as conditions say it. */
export interface ShadowWord {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Seconds in which the first copies may come. */
const graceSeconds = 60;

const percent = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(1, whole))} %`;

/**
 * The condition ShadowHealthy: whether copies are answered. By what tasks tell that are worked on, where they tell anything,
 * as a shadow that answered yesterday may be gone. Undefined: nothing is in shadow. Pure. `now` is wall time in ms.
 */
export function shadowWord(status: RolloutStatus | undefined, view: ShadowView | undefined, now: number): ShadowWord | undefined {
  if (status?.phase !== 'Shadowing' || view === undefined) return undefined;
  const { live, ended, tasks } = view;
  const { asked, answered, failed, dropped } = live.asked + live.dropped > 0 ? live : ended;
  const revision = `revision ${status.canary ?? ''}`;
  if (asked + dropped === 0) {
    const early = now - Date.parse(status.since) < 1000 * graceSeconds;
    if (early) return { status: 'Unknown', reason: 'Beginning', message: `no request was copied to ${revision} yet` };
    const message = `no request was copied to ${revision}, and ${tasks} tasks are worked on of which some would be; give the pool tasks, or raise spec.rollout.shadow.percent`;
    return { status: 'False', reason: 'NoTraffic', message };
  }
  if (dropped > asked) {
    const message = `${percent(dropped, asked + dropped)} of the copies to ${revision} are dropped; raise spec.rollout.shadow.maxInFlight, lower percent, or give it faster engines`;
    return { status: 'False', reason: 'Dropping', message };
  }
  if (failed > answered) {
    const message = `${percent(failed, failed + answered)} of the copies to ${revision} are not answered in time or at all; look at its pods`;
    return { status: 'False', reason: 'Unreachable', message };
  }
  return { status: 'True', reason: 'Answering', message: `copies of requests are answered by ${revision}` };
}
