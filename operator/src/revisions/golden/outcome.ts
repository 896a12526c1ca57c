import { goldenReportOf, type GoldenReport } from '@agentfleet/protocol/golden';
import type { Job, Pod, PodCondition, Terminated } from '../../runtime/objects.ts';

/** How a Job ended. `Lost`: the cluster took its pod away, which says nothing of the set. */
export type Outcome = 'Running' | 'Lost' | { readonly report: GoldenReport } | { readonly fault: string };

const mostWords = 200;

function ended({ status }: Job): PodCondition | undefined {
  return status?.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
}

/** Whether a Job goes on. Pure. */
export function isRunning(job: Job): boolean {
  return ended(job) === undefined;
}

/** Evicted, preempted, or refused by a kubelet: then the pod says why, or its condition does. */
function takenAway({ status }: Pod): boolean {
  const disrupted = status?.conditions?.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True') === true;
  return disrupted || status?.reason !== undefined;
}

function words(message: string | undefined): string {
  const text = (message ?? '').replaceAll(/\s+/g, ' ').trim();
  return text === '' ? '' : `: ${text.length <= mostWords ? text : `${text.slice(0, mostWords).toWellFormed()}…`}`;
}

function failed(name: string, pod: Pod, container: string, terminated: Terminated | undefined): Outcome {
  const log = `see the log of pod ${pod.metadata.name}, and change the PodTemplate`;
  if (terminated === undefined || terminated.exitCode === 0)
    return { fault: `Job ${name} failed, and not by container ${container}, which says the result; ${log}` };
  const { exitCode = '?', reason = 'Error', message } = terminated;
  return { fault: `container ${container} of Job ${name} ended with ${exitCode} (${reason})${words(message)}; ${log}` };
}

/**
 * What became of a Job. A failure is never a result, and never run again unless it was the cluster's.
 * @param pods of the Job, as the server has them
 */
export function outcomeOf(job: Job, pods: readonly Pod[], container: string, timeoutSeconds: number): Outcome {
  const end = ended(job);
  const { name } = job.metadata;
  if (end === undefined) return 'Running';
  if (end.reason === 'DeadlineExceeded')
    return { fault: `Job ${name} did not end in ${timeoutSeconds} s; raise goldenSet.timeoutSeconds, or shorten the set` };
  const [pod] = pods;
  const of = pod?.status?.containerStatuses?.find((status) => status.name === container)?.state?.terminated;
  if (pod === undefined) return 'Lost';
  if (end.type === 'Failed') return takenAway(pod) ? 'Lost' : failed(name, pod, container, of);
  const report = goldenReportOf(of?.message);
  if (!('fault' in report)) return { report };
  const say = 'its termination message has to be {"passed": n, "total": m}';
  return { fault: `container ${container} of Job ${name}: ${report.fault}; ${say}; change the PodTemplate` };
}
