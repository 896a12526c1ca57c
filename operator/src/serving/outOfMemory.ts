/** How a container ended, as the kubelet tells. */
interface End {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

/** What engines say when their GPU has no room left: at a request, at the load of weights, and when nothing is left for keys and values. */
const gpuWords = /out of memory|no available memory for the cache blocks|less than desired gpu memory utilization/i;

/**
 * What helps a container that ran out of memory; undefined where it ended by something else. The kernel's own verdict comes first:
 * the last words of one that it killed are of before.
 */
export function memoryCure({ reason, message }: End): string | undefined {
  if (reason === 'OOMKilled') return 'it took more memory than its limit: raise resources.container.limits.memory';
  if (!gpuWords.test(message ?? '')) return undefined;
  return 'its GPU has too little memory left: give a larger resources.memory.budget or fewer kvTokens, or another slot, and see what else runs there';
}
