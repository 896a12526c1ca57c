import { deadline, type Clock } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import type { Pod } from '../../../runtime/resources.ts';
import { originOf, type AskInfo } from '../../../serving/index.ts';

/** How far a fetch of weights is. */
export interface FetchProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** After which a fetch is asked again how far it is, ms. */
export const progressPollMs = 5_000;

const timeLimitMs = 2_000;

export const isFetching = ({ metadata, status }: Pod): boolean =>
  metadata.labels?.[labels.component] === 'weights' && status?.phase === 'Running' && status.podIP !== undefined;

/** How far the fetches of some pods are, by their names. Takes two seconds at most and never rejects: who does not tell is left out. */
export async function readProgress(
  pods: readonly Pod[],
  ask: AskInfo,
  clock: Clock,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FetchProgress>> {
  const limit = deadline(clock, timeLimitMs, signal);
  try {
    const answers = await Promise.all(
      pods.filter(isFetching).map(async (pod) => {
        const origin = originOf(pod);
        const answer =
          origin === undefined ? undefined : await ask(origin, limit.signal, pod.metadata.namespace ?? '').catch(() => undefined);
        return [pod.metadata.name, progressOf(answer)] as const;
      }),
    );
    return new Map(answers.filter((answer): answer is readonly [string, FetchProgress] => answer[1] !== undefined));
  } finally {
    limit.dispose();
  }
}

/** What is read from an answer; undefined when it is none, and while there is nothing to fetch. */
function progressOf(answer: unknown): FetchProgress | undefined {
  const { bytesDone, bytesTotal } = (answer ?? {}) as Record<string, unknown>;
  const counts = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return counts(bytesDone) && counts(bytesTotal) && bytesTotal > 0 ? { bytesDone, bytesTotal } : undefined;
}
